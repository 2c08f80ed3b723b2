import { ByteBuffer } from '../../platform/byte-buffer.ts';

/** A text that grows by tokens, in little more memory than its characters. */
export interface TextBuilder {
  add(piece: string): void;
  readonly length: number;
  text(): string;
}

/** Each piece of a joined string takes some 40 bytes until the whole is made flat. */
const MAX_JOINED_CHARS = 16 * 1024;

export function createTextBuilder(): TextBuilder {
  return new Builder();
}

class Builder implements TextBuilder {
  /** UTF-16, which holds whatever a JSON string can, half a surrogate pair too. */
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
