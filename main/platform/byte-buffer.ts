/** Most bodies that come in small pieces fit into it. */
const MIN_CAPACITY_BYTES = 4096;

/**
 * Gathers the pieces of a body in one buffer of at most twice their size, however small they are. In a list, a
 * piece of one byte would cost about a hundred: its object, its entry and often the whole read that it is a view of.
 * A body that comes in one piece is not copied.
 */
export class ByteBuffer {
  readonly #announcedBytes: number;
  /** The first piece itself, until a second one comes. */
  #only: Buffer | null = null;
  #buffer: Buffer<ArrayBuffer> | null = null;
  #length = 0;

  /** No more than `announcedBytes` is allocated, and nothing before it comes: a sender that announces much may send little. */
  constructor(announcedBytes = Infinity) {
    this.#announcedBytes = announcedBytes;
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

  copy(): Buffer {
    return Buffer.from(this.view());
  }

  /** The bytes so far; not to be used after the next `add`. */
  view(): Buffer {
    return this.#only ?? this.#buffer?.subarray(0, this.#length) ?? Buffer.alloc(0);
  }

  take(): Buffer {
    const bytes = this.view();
    this.clear();
    return bytes;
  }

  clear(): void {
    this.#only = null;
    this.#buffer = null;
    this.#length = 0;
  }

  #withRoom(length: number): Buffer<ArrayBuffer> {
    const before = this.#buffer;
    if (before !== null && length <= before.length) return before;
    const wantedBytes = Math.max(2 * this.#length, MIN_CAPACITY_BYTES);
    // Pages that are never written to take no memory from the system.
    const buffer = Buffer.allocUnsafeSlow(
      Math.max(length, Math.min(wantedBytes, this.#announcedBytes)),
    );
    (this.#only ?? before)?.copy(buffer, 0, 0, this.#length);
    // No other reference exists, so it is freed now; the garbage collector would wait for megabytes more.
    before?.buffer.transfer(0);
    this.#only = null;
    this.#buffer = buffer;
    return buffer;
  }
}
