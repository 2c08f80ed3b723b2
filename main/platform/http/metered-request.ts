import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** This many pieces are accepted of any body, because small bodies often come in small pieces. */
const MIN_PIECES = 256;
/** Beyond that, pieces that are smaller on average are refused. */
const MIN_AVERAGE_BYTES = 16;

/** Emitted once by a request whose body comes in pieces of a few bytes; nothing more of it is read. */
export const TINY_PIECES = 'tinyPieces';

/** One read of a socket. libuv serves one connection for up to 32 reads in a row, while all others wait. */
const MAX_TURN_BYTES = 64 * 1024;

/**
 * A request whose body takes turns with other connections, and which is cut off if it comes in tiny chunks. Node's
 * parser works through a whole read of 64 KiB, which holds 10,900 chunks of one byte, before anything else runs.
 */
export class MeteredRequest extends IncomingMessage {
  #pieces = 0;
  #bytes = 0;
  #isCut = false;
  #turnBytes = 0;
  #isYielding = false;
  /** More was asked for while it yielded. */
  #isWanted = false;

  /** Whether it was stopped; its connection is of no further use. */
  get isCut(): boolean {
    return this.#isCut;
  }

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    if (this.#isCut) return false;
    if (!Buffer.isBuffer(chunk)) return super.push(chunk, encoding);
    this.#pieces += 1;
    this.#bytes += chunk.length;
    if (this.#pieces <= MIN_PIECES || this.#bytes >= this.#pieces * MIN_AVERAGE_BYTES) {
      return this.#take(chunk);
    }
    this.#isCut = true;
    skipRestOfRead(this.socket);
    this.emit(TINY_PIECES);
    // Makes the parser stop reading from the socket.
    return false;
  }

  override _read(size: number): void {
    if (this.#isYielding) this.#isWanted = true;
    else super._read(size);
  }

  #take(chunk: Buffer): boolean {
    const isTaken = super.push(chunk);
    this.#turnBytes += chunk.length;
    if (!this.#isYielding && this.#turnBytes >= MAX_TURN_BYTES) this.#yieldTurn(isTaken);
    return isTaken && !this.#isYielding;
  }

  #yieldTurn(isWanted: boolean): void {
    this.#isYielding = true;
    this.#isWanted = isWanted;
    setImmediate(() => {
      this.#isYielding = false;
      this.#turnBytes = 0;
      if (this.#isWanted && !this.#isCut && !this.complete) this._read(0);
    });
  }
}

/** The part of Node's parser that is used here; it is undocumented, so only speed may depend on it. */
interface Parser extends Readonly<Record<number, unknown>> {
  readonly constructor: { readonly kOnBody?: number };
}

/** Without its callback the parser takes 0.1 µs for a chunk instead of 0.7 µs. */
function skipRestOfRead(socket: Socket & { readonly parser?: Parser | null }): void {
  const { parser } = socket;
  const slot = parser?.constructor.kOnBody;
  if (parser === undefined || parser === null || slot === undefined) return;
  const onBody = parser[slot];
  Object.assign(parser, { [slot]: null });
  // Node reuses parsers for other connections, in later turns.
  setImmediate(() => Object.assign(parser, { [slot]: onBody }));
}
