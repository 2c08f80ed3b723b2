import { ByteBuffer } from '../../../platform/byte-buffer.ts';

/** A text that grows token by token, using little more memory than its characters. */
export interface TextBuilder {
  add(piece: string): void;
  readonly length: number;
  text(): string;
}

/** Each piece of a concatenated string takes about 40 bytes until the string is flattened. */
const MAX_JOINED_CHARS = 16 * 1024;

export function createTextBuilder(): TextBuilder {
  return new Builder();
}

class Builder implements TextBuilder {
  /** UTF-16, which can hold everything that a JSON string can, even half a surrogate pair. */
  readonly #flat = new ByteBuffer();
  #joined = '';

  get length(): number {
    return this.#flat.length / 2 + this.#joined.length;
  }

  add(piece: string): void {
    this.#joined += piece;
    if (this.#joined.length < MAX_JOINED_CHARS) return;
    this.#flat.add(Buffer.from(this.#joined, 'utf16le'));
    this.#joined = '';
  }

  text(): string {
    if (this.#flat.length === 0) return this.#joined;
    return this.#flat.copy().toString('utf16le') + this.#joined;
  }
}
