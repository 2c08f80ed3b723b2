import { ByteBuffer } from '../../platform/byte-buffer.ts';

/** A stream longer than this cannot be carried on: what is kept of every stream in flight must stay small. */
export const MAX_SENT_BYTES = 1024 * 1024;

/** What the caller has been sent of one stream, kept until it is complete and never stored. */
export interface SentBytes {
  /** Keeps it; nothing is parsed. */
  add(bytes: Buffer): void;
  /** Everything since the beginning; null where that is over the limit. */
  taken(): readonly Buffer[] | null;
}

/** Makes a memory of at most `maxBytes`. Beyond that it lets go of all, for good: a part is of no use. */
export function createSentBytes(maxBytes: number = MAX_SENT_BYTES): SentBytes {
  let kept: ByteBuffer | null = new ByteBuffer();
  return {
    add(bytes) {
      kept?.add(bytes);
      if (kept !== null && kept.length > maxBytes) kept = null;
    },
    // A copy, for it may go on and break off once more.
    taken: () => (kept === null ? null : [kept.copy()]),
  };
}
