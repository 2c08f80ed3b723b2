/** A stream longer than this cannot be carried on: what is kept of every stream in flight must stay small. */
export const MAX_SENT_BYTES = 1024 * 1024;

/** Nor one of more pieces: each costs memory of its own, and one of fewer than 64 bytes brings no token. */
const MAX_SENT_PIECES = MAX_SENT_BYTES / 64;

/** What the caller has been sent of one stream, kept until it is complete and never stored. */
export interface SentBytes {
  /** Keeps a reference; nothing is copied or parsed. */
  add(bytes: Buffer): void;
  /** Everything since the beginning; null where that is over the limit. */
  taken(): readonly Buffer[] | null;
}

/** Makes a memory of at most `maxBytes`. Beyond that it lets go of all, for good: a part is of no use. */
export function createSentBytes(maxBytes: number = MAX_SENT_BYTES): SentBytes {
  let parts: Buffer[] | null = [];
  let length = 0;
  return {
    add(bytes) {
      if (parts === null) return;
      length += bytes.length;
      if (length > maxBytes || parts.length === MAX_SENT_PIECES) parts = null;
      else parts.push(bytes);
    },
    taken: () => parts,
  };
}
