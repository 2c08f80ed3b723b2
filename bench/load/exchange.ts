import { Client } from 'undici';
import {
  ASSEMBLED_CONTENT,
  STAMP_BYTES,
  STAMP_KEY,
  streamBytes,
  thinkingNs,
  TOKENS,
  WIRE,
} from './wires.ts';

/** Who gets a response's parts. */
interface AnswerListener {
  onStatus(status: number): void;
  onBody(piece: Buffer): void;
}

/** As a client sends them. */
const HEADERS = {
  'user-agent': 'inglenook-bench',
  accept: 'application/json',
  'content-type': 'application/json',
  authorization: 'Bearer bench',
};

/** One kept connection to a target, opened by the first request; one request at a time. */
export interface Connection {
  /** Sends a chat and reads its answer to the end; rejects when the connection breaks. */
  ask(body: Buffer, listener: AnswerListener): Promise<void>;
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
    ask: (body, listener) =>
      new Promise((resolve, reject) => {
        client.dispatch(
          { method: 'POST', path: WIRE.path, headers: HEADERS, body },
          {
            onRequestStart: () => {},
            onResponseStart: (_controller, status) => listener.onStatus(status),
            onResponseData: (_controller, piece) => listener.onBody(piece),
            onResponseEnd: () => resolve(),
            onResponseError: (_controller, error) => reject(error),
          },
        );
      }),
    close: () => void client.destroy(),
  };
}

/** Reads one answer and judges it. */
export interface Check extends AnswerListener {
  /** What is wrong with the answer, null when it is right. */
  problem(): string | null;
  /** Time to the first token that went by on the way, not in the upstream; null for no stream. */
  firstTokenUs(): number | null;
}

export type AnswerKind = 'plain' | 'assembled' | keyof typeof TOKENS;

/** Makes the check for one answer to a request that goes out now. */
export function createCheck(kind: AnswerKind): Check {
  switch (kind) {
    case 'plain':
      return wholeCheck((body) => (body.equals(WIRE.plainAnswer) ? null : 'not the same bytes'));
    case 'assembled':
      return wholeCheck(assembledProblem);
    default:
      return streamCheck(TOKENS[kind]);
  }
}

function wholeCheck(judge: (body: Buffer) => string | null): Check {
  const pieces: Buffer[] = [];
  let status = 0;
  return {
    onStatus: (is) => void (status = is),
    onBody: (piece) => void pieces.push(piece),
    problem() {
      const body =
        pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
      const problem = status === 200 ? judge(body) : 'not a 200';
      if (problem === null) return null;
      return `${problem}: status ${status}, ${body.length} bytes: ${body.toString('utf8', 0, 200)}`;
    },
    firstTokenUs: () => null,
  };
}

function assembledProblem(body: Buffer): string | null {
  const answer = JSON.parse(body.toString()) as {
    readonly choices?: readonly { readonly message?: { readonly content?: unknown } }[];
  };
  return answer.choices?.[0]?.message?.content === ASSEMBLED_CONTENT ? null : 'not the whole text';
}

const DONE = Buffer.from('data: [DONE]\n\n');

function streamCheck(tokens: number): Check {
  const wantedBytes = streamBytes(tokens);
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
      const seen = `status ${status}, ${bytes} of ${wantedBytes} bytes`;
      if (status !== 200) return `not a 200: ${seen}`;
      if (bytes !== wantedBytes) return `not the same bytes: ${seen}`;
      if (!last.subarray(-DONE.length).equals(DONE)) return `no [DONE] at the end: ${seen}`;
      return firstTokenUs === null ? `no first token: ${seen}` : null;
    },
    firstTokenUs: () => firstTokenUs,
  };
}
