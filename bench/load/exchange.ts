import { Client } from 'undici';
import {
  ASSEMBLED_CONTENT,
  PLAIN_TEXT,
  STAMP_BYTES,
  STAMP_KEY,
  STREAM_BYTES,
  thinkingNs,
  TOKENS,
  WIRES,
  type Api,
  type Wire,
} from './wires.ts';

/** Who gets a response's parts. */
interface AnswerListener {
  onStatus(status: number): void;
  onBody(piece: Buffer): void;
}

/** A request as it is sent again and again. */
export interface Message {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

/** A POST as a client sends it. */
export const postOf = (
  path: string,
  body: Buffer | null,
  extra: Readonly<Record<string, string>> = {},
): Message => ({
  method: 'POST',
  path,
  headers: {
    'user-agent': 'inglenook-bench',
    accept: 'application/json',
    'content-type': 'application/json',
    authorization: 'Bearer bench',
    ...extra,
  },
  body,
});

/** One kept connection to a target, opened by the first request; one request at a time. */
export interface Connection {
  /** Sends a request and reads its answer to the end; rejects when the connection breaks. */
  ask(message: Message, listener: AnswerListener): Promise<void>;
  close(): void;
}

const HOUR_MS = 3_600_000;

/** A connection to a port of this machine. */
export function connect(port: number): Connection {
  const client = new Client(`http://127.0.0.1:${port}`, {
    keepAliveTimeout: HOUR_MS,
    keepAliveMaxTimeout: HOUR_MS,
    keepAliveTimeoutThreshold: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    ask: (message, listener) =>
      new Promise((resolve, reject) => {
        client.dispatch(message, {
          onRequestStart: () => {},
          onResponseStart: (_controller, status) => listener.onStatus(status),
          onResponseData: (_controller, piece) => listener.onBody(piece),
          onResponseEnd: () => resolve(),
          onResponseError: (_controller, error) => reject(error),
        });
      }),
    close: () => void client.destroy(),
  };
}

/** Asks whether a program answers; the connection stays open. */
export const askHealth = (connection: Connection): Promise<void> =>
  connection.ask(
    { method: 'GET', path: '/healthz', headers: {}, body: null },
    { onStatus() {}, onBody() {} },
  );

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
    return wholeCheck(200, kind === 'stream' ? streamProblem(WIRES[api]) : textProblem);
  }
  switch (kind) {
    case 'plain':
      return wholeCheck(200, (body) =>
        body.equals(WIRES.chat.plainAnswer) ? null : 'not the same bytes',
      );
    case 'assembled':
      return wholeCheck(200, assembledProblem);
    case 'failing':
      return wholeCheck(502, () => null);
    case 'stream':
      return streamCheck();
  }
}

function wholeCheck(expected: number, judge: (body: Buffer) => string | null): Check {
  const pieces: Buffer[] = [];
  let status = 0;
  return {
    onStatus: (is) => void (status = is),
    onBody: (piece) => void pieces.push(piece),
    problem() {
      const body =
        pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
      const problem = status === expected ? judge(body) : `not a ${expected}`;
      if (problem === null) return null;
      return `${problem}: status ${status}, ${body.length} bytes: ${body.toString('utf8', 0, 200)}`;
    },
    firstTokenUs: () => null,
  };
}

/** Native or translated, every piece must be there, and the protocol's own end. */
const streamProblem =
  ({ tokenMark, endMark }: Wire) =>
  (body: Buffer) => {
    const text = body.toString('latin1');
    const pieces = text.split(tokenMark).length - 1;
    if (pieces !== TOKENS) return `${pieces} of ${TOKENS} pieces`;
    return text.includes(endMark) ? null : 'no end';
  };

const textProblem = (body: Buffer) => (body.includes(PLAIN_TEXT) ? null : 'not the text');

function assembledProblem(body: Buffer): string | null {
  const answer = JSON.parse(body.toString()) as {
    readonly choices?: readonly { readonly message?: { readonly content?: unknown } }[];
  };
  return answer.choices?.[0]?.message?.content === ASSEMBLED_CONTENT ? null : 'not the whole text';
}

const DONE = Buffer.from('data: [DONE]\n\n');

function streamCheck(): Check {
  const sentNs = process.hrtime.bigint();
  let [status, bytes] = [0, 0];
  let beginning: Buffer = Buffer.alloc(0);
  let last: Buffer = Buffer.alloc(0);
  let firstTokenUs: number | null = null;
  const lookForToken = (piece: Buffer) => {
    const now = process.hrtime.bigint();
    beginning = Buffer.concat([beginning, piece]);
    const start = beginning.indexOf(STAMP_KEY) + STAMP_KEY.length;
    if (start < STAMP_KEY.length || beginning.length < start + STAMP_BYTES) return;
    const thinking = thinkingNs(beginning.toString('latin1', start, start + STAMP_BYTES));
    firstTokenUs = Number(now - sentNs - thinking) / 1000;
  };
  return {
    onStatus: (is) => void (status = is),
    onBody(piece) {
      bytes += piece.length;
      last = piece.length < DONE.length ? Buffer.concat([last, piece]) : piece;
      if (firstTokenUs === null) lookForToken(piece);
    },
    problem() {
      const seen = `status ${status}, ${bytes} of ${STREAM_BYTES} bytes`;
      if (status !== 200) return `not a 200: ${seen}`;
      if (bytes !== STREAM_BYTES) return `not the same bytes: ${seen}`;
      if (!last.subarray(-DONE.length).equals(DONE)) return `no [DONE] at the end: ${seen}`;
      return firstTokenUs === null ? `no first token: ${seen}` : null;
    },
    firstTokenUs: () => firstTokenUs,
  };
}
