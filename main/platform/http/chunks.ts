import type { ServerResponse } from 'node:http';

/** Chunks up to this size are copied into one piece; beyond it the copy costs more than it saves. */
const MAX_COPIED_BYTES = 16 * 1024;

const CRLF = 0x0d0a;
const HEX_DIGITS = Buffer.from('0123456789abcdef');

/**
 * Writes to a chunked response, each chunk in one piece if possible. Node writes the length, the bytes and the line end
 * as separate pieces, and gathering them takes a third of the total cost of an event (`npm run bench`). Returns false,
 * like `write`, if the caller should wait for `drain`.
 */
export function writeChunk(res: ServerResponse, bytes: Buffer): boolean {
  const { socket } = res;
  const isPlain =
    socket !== null &&
    res.headersSent &&
    // HTTP/1.0 has no chunks; a pipelined response waits for the previous one.
    res.chunkedEncoding &&
    res.writableLength === socket.writableLength &&
    bytes.length > 0 &&
    bytes.length <= MAX_COPIED_BYTES;
  if (!isPlain) return res.write(bytes);
  const digits = Math.ceil((32 - Math.clz32(bytes.length)) / 4);
  const piece = pieceMemory(digits + bytes.length + 4);
  // Byte by byte: as a text, the length would take longer to write than the event to copy.
  for (let at = digits - 1, rest = bytes.length; at >= 0; at -= 1, rest >>= 4)
    piece[at] = HEX_DIGITS[rest & 0xf] ?? 0;
  piece.writeUInt16BE(CRLF, digits);
  piece.set(bytes, digits + 2);
  piece.writeUInt16BE(CRLF, piece.length - 2);
  return socket.write(piece);
}

/**
 * Pieces are written at once and have memory of their own: of Node's pool, where request bodies are too, each of these would
 * keep 64 KiB until its answer ends.
 */
const SLAB_BYTES = 64 * 1024;
let slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
let usedBytes = 0;

function pieceMemory(bytes: number): Buffer {
  if (usedBytes + bytes > SLAB_BYTES) [slab, usedBytes] = [Buffer.allocUnsafeSlow(SLAB_BYTES), 0];
  usedBytes += bytes;
  return slab.subarray(usedBytes - bytes, usedBytes);
}
