/** What the first growth makes room for; most of what comes in small pieces ends below it. */
const MIN_CAPACITY = 4096;

/**
 * Gathers the pieces of a body. Kept apart, a piece of one byte costs a hundred: its object, its place in a
 * list and often the whole read that it was cut from. So the bytes are copied together as they come, and what
 * is held is at most twice the bytes, however small the pieces. A body that comes in one piece is not copied.
 */
export class ByteBuffer {
  readonly #expectedBytes: number;
  /** The first piece as it came, until a second one follows. */
  #only: Buffer | null = null;
  #buffer: Buffer<ArrayBuffer> | null = null;
  #length = 0;

  /** With `expectedBytes`, a length that was announced and may be trusted with memory, it need not grow. */
  constructor(expectedBytes = 0) {
    this.#expectedBytes = expectedBytes;
  }

  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    if (piece.length === 0) return;
    if (this.#length === 0) {
      this.#only = piece;
      this.#length = piece.length;
      return;
    }
    const length = this.#length + piece.length;
    const buffer = this.#withRoom(length);
    buffer.set(piece, this.#length);
    this.#length = length;
  }

  /** A copy of all bytes so far. */
  copy(): Buffer {
    return Buffer.from(this.#bytes());
  }

  /** Hands all bytes over as one piece; it is empty afterwards. */
  take(): Buffer {
    const bytes = this.#bytes();
    this.clear();
    return bytes;
  }

  /** Lets go of all bytes. */
  clear(): void {
    this.#only = null;
    this.#buffer = null;
    this.#length = 0;
  }

  #bytes(): Buffer {
    return this.#only ?? this.#buffer?.subarray(0, this.#length) ?? Buffer.alloc(0);
  }

  #withRoom(length: number): Buffer<ArrayBuffer> {
    const before = this.#buffer;
    if (before !== null && length <= before.length) return before;
    // Memory that nothing is written to is not taken from the system yet.
    const buffer = Buffer.allocUnsafeSlow(
      Math.max(length, 2 * this.#length, this.#expectedBytes, MIN_CAPACITY),
    );
    (this.#only ?? before)?.copy(buffer, 0, 0, this.#length);
    // Nobody else has seen it, so it is given back now: the collector would leave it for megabytes more.
    before?.buffer.transfer(0);
    this.#only = null;
    this.#buffer = buffer;
    return buffer;
  }
}
