import type { IncomingMessage } from 'node:http';
import { ByteBuffer } from '../../platform/byte-buffer.ts';
import type { BodyShare } from '../../platform/body-budget.ts';

/** A request body, or why there is none. */
export type BodyRead =
  | { readonly kind: 'body'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  /** The bodies in flight leave no room for it. */
  | { readonly kind: 'no_room' }
  /** It comes in pieces that are too small to be anything but an attack. */
  | { readonly kind: 'too_many_pieces' }
  /** The caller went away while sending. */
  | { readonly kind: 'aborted' };

/** What a body may be. */
export interface BodyLimits {
  readonly maxBytes: number;
  /** Each piece costs about a microsecond, however small. */
  readonly maxPieces?: number;
  /** What it holds of a budget; whoever made it gives it back. */
  readonly share?: BodyShare;
}

/** Reads a whole body; of one that is not taken, the rest is read and thrown away. */
export function readBody(
  req: IncomingMessage,
  { maxBytes, maxPieces = Infinity, share }: BodyLimits,
): Promise<BodyRead> {
  return new Promise((resolve) => {
    const announced = Number(req.headers['content-length'] ?? 0);
    const body = new ByteBuffer(announced);
    let taken = 0;
    let pieces = 0;
    let isRefused = false;

    const refuse = (kind: 'too_large' | 'no_room' | 'too_many_pieces') => {
      isRefused = true;
      body.clear();
      share?.giveBack();
      resolve({ kind });
    };
    /** What was announced counts from the beginning, or ten bodies would be half read for the sake of one. */
    const take = (bytes: number) => {
      if (bytes > maxBytes) refuse('too_large');
      else if (bytes > taken && share?.take(bytes - taken) === false) refuse('no_room');
      else taken = Math.max(taken, bytes);
    };

    take(announced);
    req.on('data', (chunk: Buffer) => {
      if (isRefused) return;
      pieces += 1;
      take(body.length + chunk.length);
      if (pieces > maxPieces) refuse('too_many_pieces');
      else if (!isRefused) body.add(chunk);
    });
    req.on('end', () => resolve({ kind: 'body', bytes: body.take() }));
    req.on('close', () => resolve({ kind: 'aborted' }));
    req.on('error', () => resolve({ kind: 'aborted' }));
  });
}
