import type { AnswerListener } from './answer-reader.ts';
import {
  ASSEMBLED_CONTENT,
  PLAIN_ANSWER,
  PLAIN_TEXT,
  STAMP_BYTES,
  STAMP_KEY,
  STREAM_BYTES,
  thinkingNs,
  TOKENS,
} from './traffic.ts';
import { type Api, type Wire, WIRES } from './wires.ts';

/** Reads one answer and judges it. */
export interface Check extends AnswerListener {
  /** What is wrong with the answer, null when it is right. */
  problem(): string | null;
  /** Time to the first token that went by on the way, not in the upstream; null for no stream. */
  firstTokenUs(): number | null;
}

/** `failing`: only a `local` that refuses every connection may be asked, so the answer is a 502. */
export type AnswerKind = 'plain' | 'stream' | 'assembled' | 'failing';

/** Makes the check for one answer to a request that goes out now. */
export function createCheck(kind: AnswerKind, api?: Api): Check {
  if (api !== undefined) {
    return new WholeCheck(200, kind === 'stream' ? streamProblem(WIRES[api]) : textProblem);
  }
  switch (kind) {
    case 'plain':
      return new WholeCheck(200, (body) =>
        body.equals(PLAIN_ANSWER) ? null : 'not the same bytes',
      );
    case 'assembled':
      return new WholeCheck(200, assembledProblem);
    case 'failing':
      return new WholeCheck(502, () => null);
    case 'stream':
      return new StreamCheck();
  }
}

class WholeCheck implements Check {
  readonly #expected: number;
  readonly #judge: (body: Buffer) => string | null;
  readonly #pieces: Buffer[] = [];
  #status = 0;

  constructor(expected: number, judge: (body: Buffer) => string | null) {
    this.#expected = expected;
    this.#judge = judge;
  }

  onStatus(status: number): void {
    this.#status = status;
  }

  onBody(piece: Buffer): void {
    this.#pieces.push(piece);
  }

  problem(): string | null {
    const [only, ...more] = this.#pieces;
    const body = only !== undefined && more.length === 0 ? only : Buffer.concat(this.#pieces);
    const problem = this.#status === this.#expected ? this.#judge(body) : `not a ${this.#expected}`;
    return problem === null
      ? null
      : `${problem}: status ${this.#status}, ${body.length} bytes: ${body.toString('utf8', 0, 200)}`;
  }

  firstTokenUs(): null {
    return null;
  }
}

/** Native or translated, every piece must be there, and the protocol's own end. */
function streamProblem({ tokenMark, endMark }: Wire): (body: Buffer) => string | null {
  return (body) => {
    const text = body.toString('latin1');
    const pieces = text.split(tokenMark).length - 1;
    if (pieces !== TOKENS) return `${pieces} of ${TOKENS} pieces`;
    return text.includes(endMark) ? null : 'no end';
  };
}

const textProblem = (body: Buffer) => (body.includes(PLAIN_TEXT) ? null : 'not the text');

function assembledProblem(body: Buffer): string | null {
  const answer = JSON.parse(body.toString('utf8')) as {
    readonly choices?: readonly { readonly message?: { readonly content?: unknown } }[];
  };
  const content = answer.choices?.[0]?.message?.content;
  return content === ASSEMBLED_CONTENT ? null : 'not the whole text';
}

const DONE = Buffer.from('data: [DONE]\n\n');

class StreamCheck implements Check {
  readonly #sentNs = process.hrtime.bigint();
  #status = 0;
  #bytes = 0;
  #beginning: Buffer = Buffer.alloc(0);
  #last: Buffer = Buffer.alloc(0);
  #firstTokenUs: number | null = null;

  onStatus(status: number): void {
    this.#status = status;
  }

  onBody(piece: Buffer): void {
    this.#bytes += piece.length;
    this.#last = piece.length < DONE.length ? Buffer.concat([this.#last, piece]) : piece;
    if (this.#firstTokenUs === null) this.#lookForToken(piece);
  }

  #lookForToken(piece: Buffer): void {
    const now = process.hrtime.bigint();
    this.#beginning = Buffer.concat([this.#beginning, piece]);
    const at = this.#beginning.indexOf(STAMP_KEY);
    if (at === -1) return;
    const start = at + STAMP_KEY.length;
    if (this.#beginning.length < start + STAMP_BYTES) return;
    const thinking = thinkingNs(this.#beginning.toString('latin1', start, start + STAMP_BYTES));
    this.#firstTokenUs = Number(now - this.#sentNs - thinking) / 1000;
  }

  problem(): string | null {
    const seen = `status ${this.#status}, ${this.#bytes} of ${STREAM_BYTES} bytes`;
    if (this.#status !== 200) return `not a 200: ${seen}`;
    if (this.#bytes !== STREAM_BYTES) return `not the same bytes: ${seen}`;
    if (!this.#last.subarray(-DONE.length).equals(DONE)) return `no [DONE] at the end: ${seen}`;
    return this.#firstTokenUs === null ? `no first token: ${seen}` : null;
  }

  firstTokenUs(): number | null {
    return this.#firstTokenUs;
  }
}
