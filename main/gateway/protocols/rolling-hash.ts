import startXxHash, { type XXHashAPI } from 'xxhash-wasm';

let xxHash: XXHashAPI | null = null;

/** Resolves, once for the process, when hashes can be made. */
export const hashIsReady = startHashing();

async function startHashing(): Promise<void> {
  xxHash = await startXxHash();
}

/** The hash keeps as much memory for good as the longest piece that it ever took. */
const MAX_PIECE_BYTES = 64 * 1024;

/** Bits of the hash that a number has no room for. */
const SURPLUS_BITS = 11n;

/** A hash of the bytes so far, whatever pieces they came in. It need not withstand forgery. */
export function createRollingHash() {
  if (xxHash === null) throw new Error('rolling hashes are made before hashIsReady has resolved');
  const hash = xxHash.create64();
  let length = 0;
  return {
    add(bytes: Buffer, start: number, end: number) {
      length += end - start;
      for (let at = start; at < end; at += MAX_PIECE_BYTES)
        hash.update(bytes.subarray(at, Math.min(end, at + MAX_PIECE_BYTES)));
    },
    /** Of all bytes so far; a safe integer. More bytes may follow: the digest leaves the hash as it is. */
    key: () => Number(hash.digest() >> SURPLUS_BITS),
    length: () => length,
  };
}
