import type { IncomingMessage } from 'node:http';

/** A request body, or why there is none. */
export type BodyRead =
  | { readonly kind: 'body'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  /** The caller went away while sending. */
  | { readonly kind: 'aborted' };

/** Reads a whole body of at most `maxBytes`; of a larger one, the rest is read and thrown away. */
export function readBody(req: IncomingMessage, maxBytes: number): Promise<BodyRead> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let bytes = Number(req.headers['content-length'] ?? 0) > maxBytes ? maxBytes + 1 : 0;
    if (bytes > maxBytes) resolve({ kind: 'too_large' });
    req.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) parts.push(chunk);
      else resolve({ kind: 'too_large' });
    });
    req.on('end', () => {
      const [only] = parts;
      resolve({ kind: 'body', bytes: parts.length === 1 && only ? only : Buffer.concat(parts) });
    });
    req.on('close', () => resolve({ kind: 'aborted' }));
    req.on('error', () => resolve({ kind: 'aborted' }));
  });
}
