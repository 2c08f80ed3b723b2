/** Longer streams cannot be resumed: the bytes are kept for every running stream. */
export const MAX_SENT_BYTES = 1024 * 1024;

/** Each piece costs memory of its own, and an event with a token has at least 64 bytes. */
const MAX_SENT_PIECES = MAX_SENT_BYTES / 64;

/** The bytes sent of one stream: in memory only, until it is complete. */
export interface SentBytes {
  /** Keeps a reference; nothing is copied or parsed. */
  add(bytes: Buffer): void;
  /** Everything since the start; null over the limit. */
  taken(): readonly Buffer[] | null;
}

/** Over `maxBytes` everything is dropped for good: a part is of no use. */
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
