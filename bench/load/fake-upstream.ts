/**
 * The fake upstream, a process of its own: answers every POST at once with the same JSON, or with a
 * paced stream. Written on bare sockets, so that the core it shares with the load is not the limit.
 * Argument: milliseconds between two content events, for requests that do not say it.
 * `GET /seen` says how many POSTs have come.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { firstTokenEvent, PACE_KEY, STREAM_FLAG, TOKENS, WIRES, type Wire } from './wires.ts';

const chunked = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

/** The answers of one protocol, in the bytes that are written. */
interface Answers {
  readonly start: string;
  readonly plain: Buffer;
  readonly streamStart: Buffer;
  /** Null if every token is the same. */
  readonly firstToken: typeof firstTokenEvent | null;
  readonly token: Buffer;
  readonly streamEnd: Buffer;
}

const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';

const answersOf = (wire: Wire): Answers => ({
  start: `POST ${wire.path} `,
  plain: Buffer.concat([
    Buffer.from(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${wire.plainAnswer.length}\r\n\r\n`,
    ),
    wire.plainAnswer,
  ]),
  streamStart: Buffer.from(STREAM_HEAD + chunked(wire.opening)),
  firstToken: wire === WIRES.chat ? firstTokenEvent : null,
  token: Buffer.from(chunked(wire.token)),
  streamEnd: Buffer.from(`${chunked(wire.token)}${chunked(wire.closing)}0\r\n\r\n`),
});

const CHAT = answersOf(WIRES.chat);
const OTHERS = [answersOf(WIRES.responses), answersOf(WIRES.messages)];
/** Only the gateway asks this, on its own, of an engine. */
const NO_MODELS = Buffer.from('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n');

const paceMs = Number(process.argv[2]);
let seen = 0;

/** What is kept of a request; it says in its first bytes what it asks for. */
const KEPT_BYTES = 65_536;

/** Finds the end of the one request that is under way; clients here never pipeline. */
function serve(socket: Socket): void {
  let got = Buffer.alloc(0);
  let bytes = 0;
  let need = 0;
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    if (got.length === 0) got = chunk;
    else if (got.length < KEPT_BYTES) got = Buffer.concat([got, chunk]);
    bytes += chunk.length;
    if (need === 0) need = requestBytes(got);
    if (need === 0 || bytes < need) return;
    const isPost = got[0] === 0x50;
    const isStream = isPost && got.includes(STREAM_FLAG);
    const answers = OTHERS.find(({ start }) => got.indexOf(start) === 0) ?? CHAT;
    const asksForCount = got.indexOf('GET /seen ') === 0;
    const pace = isStream ? paceAskedFor(got) : paceMs;
    got = Buffer.alloc(0);
    bytes = 0;
    need = 0;
    if (isPost) seen += 1;
    if (isStream) stream(socket, answers, pace);
    else if (asksForCount) socket.write(countAnswer());
    else socket.write(isPost ? answers.plain : NO_MODELS);
  });
}

function countAnswer(): string {
  const text = String(seen);
  return `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
}

/** Length of head and body, 0 while the head is not whole. */
function requestBytes(got: Buffer): number {
  const end = got.indexOf('\r\n\r\n');
  if (end === -1) return 0;
  const length = /\r\ncontent-length: *(\d+)/i.exec(got.toString('latin1', 0, end))?.[1] ?? '0';
  return end + 4 + Number(length);
}

function paceAskedFor(request: Buffer): number {
  const at = request.indexOf(PACE_KEY);
  if (at === -1) return paceMs;
  return Number.parseInt(
    request.toString('latin1', at + PACE_KEY.length, at + PACE_KEY.length + 8),
    10,
  );
}

function stream(
  socket: Socket,
  { streamStart, firstToken, token, streamEnd }: Answers,
  pace: number,
): void {
  const receivedNs = process.hrtime.bigint();
  let sent = 0;
  socket.write(streamStart);
  const timer = setInterval(() => {
    sent += 1;
    if (socket.destroyed) {
      clearInterval(timer);
    } else if (sent === 1 && firstToken !== null) {
      socket.write(chunked(firstToken(receivedNs, process.hrtime.bigint())));
    } else if (sent < TOKENS) socket.write(token);
    else {
      clearInterval(timer);
      socket.write(streamEnd);
    }
  }, pace);
}

const server = createServer(serve);
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on ${(server.address() as AddressInfo).port}\n`);
});
