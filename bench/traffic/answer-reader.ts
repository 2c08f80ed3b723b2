/** One HTTP/1.1 response as it comes in over a socket. */
export interface AnswerReader {
  /** Takes a piece; true when the response is whole and the next one may come. */
  push(piece: Buffer): boolean;
}

/** Who gets a response's parts. */
export interface AnswerListener {
  onStatus(status: number): void;
  onBody(piece: Buffer): void;
}

const CRLF = Buffer.from('\r\n');
const HEAD_END = Buffer.from('\r\n\r\n');

type State = 'head' | 'sized' | 'chunk-size' | 'chunk' | 'trailer';

/**
 * Makes a reader for the responses of one connection. It knows what the bench's targets send
 * (`Content-Length` or chunked, no trailers, no upgrades) and throws at anything else.
 */
export function createAnswerReader(listener: AnswerListener): AnswerReader {
  let state: State = 'head';
  let rest: Buffer = Buffer.alloc(0);
  let left = 0;

  /** Takes one line, without its end, off `rest`; null while it is not whole. */
  function takeLine(end: Buffer): string | null {
    const at = rest.indexOf(end);
    if (at === -1) return null;
    const line = rest.toString('latin1', 0, at);
    rest = rest.subarray(at + end.length);
    return line;
  }

  function onHead(head: string): void {
    listener.onStatus(Number(head.slice(9, 12)));
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length !== undefined) {
      state = 'sized';
      left = Number(length);
    } else if (/\r\ntransfer-encoding: *chunked/i.test(head)) state = 'chunk-size';
    else throw new Error(`a response without a length: ${head}`);
  }

  function takeBody(): void {
    const piece = rest.subarray(0, left);
    rest = rest.subarray(piece.length);
    left -= piece.length;
    if (piece.length > 0) listener.onBody(piece);
  }

  /** One step; false when more bytes are needed. Leaves `state` at 'head' when the response is whole. */
  function step(): boolean {
    switch (state) {
      case 'head': {
        const head = takeLine(HEAD_END);
        if (head !== null) onHead(head);
        return head !== null;
      }
      case 'sized':
        takeBody();
        if (left === 0) state = 'head';
        return left === 0;
      case 'chunk-size': {
        const size = takeLine(CRLF);
        if (size === null) return false;
        left = Number.parseInt(size, 16);
        if (Number.isNaN(left)) throw new Error(`no chunk size: ${size}`);
        state = left === 0 ? 'trailer' : 'chunk';
        return true;
      }
      case 'chunk':
        takeBody();
        if (left > 0 || rest.length < CRLF.length) return false;
        rest = rest.subarray(CRLF.length);
        state = 'chunk-size';
        return true;
      case 'trailer': {
        if (rest.length < CRLF.length) return false;
        rest = rest.subarray(CRLF.length);
        state = 'head';
        return true;
      }
    }
  }

  return {
    push(piece) {
      rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
      while (step()) {
        if (state !== 'head') continue;
        if (rest.length > 0) throw new Error('bytes after the end of a response');
        return true;
      }
      return false;
    },
  };
}
