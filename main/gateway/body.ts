import type { IncomingMessage } from 'node:http';

/** A request body, or why there is none. */
export type BodyRead =
  | { readonly kind: 'body'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  /** The caller went away while sending. */
  | { readonly kind: 'aborted' };

/** So much of a body that is too large is still read, so that its sender gets to read the answer. */
const DISCARDED_BYTES = 1024 * 1024;

/** Reads a whole body of at most `maxBytes`. */
export function readBody(req: IncomingMessage, maxBytes: number): Promise<BodyRead> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    const declared = Number(req.headers['content-length'] ?? 0);
    if (declared > maxBytes + DISCARDED_BYTES) {
      resolve({ kind: 'too_large' });
      return;
    }
    req.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) parts.push(chunk);
      else if (bytes > maxBytes + DISCARDED_BYTES) resolve({ kind: 'too_large' });
    });
    req.on('end', () => {
      if (bytes > maxBytes) resolve({ kind: 'too_large' });
      else {
        const [only] = parts;
        resolve({ kind: 'body', bytes: parts.length === 1 && only ? only : Buffer.concat(parts) });
      }
    });
    req.on('close', () => resolve({ kind: 'aborted' }));
    req.on('error', () => resolve({ kind: 'aborted' }));
  });
}
