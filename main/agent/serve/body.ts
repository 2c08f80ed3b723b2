import type { IncomingMessage } from 'node:http';
import { ByteBuffer } from '../../platform/byte-buffer.ts';

/** A request body, or why there is none. */
export type BodyRead =
  | { readonly kind: 'body'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  /** The caller went away while sending. */
  | { readonly kind: 'aborted' };

/** Reads a whole body of at most `maxBytes`. */
export function readBody(req: IncomingMessage, maxBytes: number): Promise<BodyRead> {
  return new Promise((resolve) => {
    const body = new ByteBuffer();
    let isTooLarge = false;
    if (Number(req.headers['content-length'] ?? 0) > maxBytes) {
      resolve({ kind: 'too_large' });
      return;
    }
    req.on('data', (chunk: Buffer) => {
      if (isTooLarge) return;
      body.add(chunk);
      if (body.length <= maxBytes) return;
      isTooLarge = true;
      body.clear();
      resolve({ kind: 'too_large' });
    });
    req.on('end', () => resolve({ kind: 'body', bytes: body.take() }));
    req.on('close', () => resolve({ kind: 'aborted' }));
    req.on('error', () => resolve({ kind: 'aborted' }));
  });
}

/** A body beyond this is not searched for its model: that would hold up everybody else. */
const MAX_SEARCHED_BYTES = 1024 * 1024;

/** The model that a body asks for; null where it names none, or is too large to be searched. */
export function modelAskedFor(bytes: Buffer): string | null {
  if (bytes.length > MAX_SEARCHED_BYTES) return null;
  try {
    const { model } = JSON.parse(bytes.toString('utf8')) as { readonly model?: unknown };
    return typeof model === 'string' && model !== '' && model.length <= 1024 ? model : null;
  } catch {
    // The engine judges what it is sent, and answers in its own words.
    return null;
  }
}
