import type { IncomingMessage } from 'node:http';
import { memberOf, parseJson } from '../json.ts';
import type { BodyShare } from '../../platform/body-budget.ts';
import { ByteBuffer } from '../../platform/byte-buffer.ts';

/** A request body, or why there is none. */
export type BodyRead =
  | { readonly kind: 'body'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  /** The bodies in flight leave no room for it. */
  | { readonly kind: 'no_room' }
  /** The caller went away while sending. */
  | { readonly kind: 'aborted' };

/** Reads a whole body of at most `maxBytes`; whoever made the share gives it back. */
export function readBody(
  req: IncomingMessage,
  maxBytes: number,
  share: BodyShare,
): Promise<BodyRead> {
  return new Promise((resolve) => {
    const announced = Number(req.headers['content-length'] ?? 0);
    const body = new ByteBuffer(announced);
    let taken = 0;
    let isRefused = false;

    const refuse = (kind: 'too_large' | 'no_room') => {
      isRefused = true;
      body.clear();
      share.giveBack();
      resolve({ kind });
    };
    const take = (bytes: number) => {
      if (bytes > maxBytes) refuse('too_large');
      else if (bytes > taken && !share.take(bytes - taken)) refuse('no_room');
      else taken = Math.max(taken, bytes);
    };

    take(announced);
    if (isRefused) return;
    req.on('data', (chunk: Buffer) => {
      if (isRefused) return;
      take(body.length + chunk.length);
      if (!isRefused) body.add(chunk);
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
  // The engine judges what it is sent, and answers in its own words.
  const model = memberOf(parseJson(bytes.toString('utf8')), 'model');
  return typeof model === 'string' && model !== '' && model.length <= 1024 ? model : null;
}
