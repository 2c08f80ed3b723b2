/**
 * The fake upstream, a process of its own: answers every POST at once with the same JSON, or with a
 * paced stream. Written on bare sockets, so that the core it shares with the load is not the limit.
 * Argument: milliseconds between two content events.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { firstTokenEvent, STREAM_FLAG, WIRE } from './wires.ts';

const chunked = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

const PLAIN_HEAD = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${WIRE.plainAnswer.length}\r\n\r\n`;
const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';

const PLAIN = Buffer.concat([Buffer.from(PLAIN_HEAD), WIRE.plainAnswer]);
const STREAM_START = Buffer.from(STREAM_HEAD + chunked(WIRE.opening));
const TOKEN = Buffer.from(chunked(WIRE.token));
const STREAM_END = Buffer.from(`${chunked(WIRE.token)}${chunked(WIRE.closing)}0\r\n\r\n`);
/** Only the gateway asks this, on its own, of an engine. */
const NO_MODELS = Buffer.from('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n');

const paceMs = Number(process.argv[2]);

/** Finds the end of the one request that is under way; clients here never pipeline. */
function serve(socket: Socket): void {
  let got = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    got = got.length === 0 ? chunk : Buffer.concat([got, chunk]);
    const need = requestBytes(got);
    if (need === 0 || got.length < need) return;
    const isPost = got[0] === 0x50;
    const isStream = isPost && got.includes(STREAM_FLAG);
    const [, tokens] = isStream ? (MAX_TOKENS.exec(got.toString('latin1')) ?? []) : [];
    got = Buffer.alloc(0);
    if (isStream) stream(socket, Number(tokens));
    else socket.write(isPost ? PLAIN : NO_MODELS);
  });
}

/** Length of head and body, 0 while the head is not whole. */
function requestBytes(got: Buffer): number {
  const end = got.indexOf('\r\n\r\n');
  if (end === -1) return 0;
  const length = /\r\ncontent-length: *(\d+)/i.exec(got.toString('latin1', 0, end))?.[1] ?? '0';
  return end + 4 + Number(length);
}

const MAX_TOKENS = /"max_tokens":(\d+)/;

function stream(socket: Socket, tokens: number): void {
  const receivedNs = process.hrtime.bigint();
  let sent = 0;
  socket.write(STREAM_START);
  const timer = setInterval(() => {
    sent += 1;
    if (socket.destroyed) {
      clearInterval(timer);
    } else if (sent === 1) {
      socket.write(chunked(firstTokenEvent(receivedNs, process.hrtime.bigint())));
    } else if (sent < tokens) socket.write(TOKEN);
    else {
      clearInterval(timer);
      socket.write(STREAM_END);
    }
  }, paceMs);
}

const server = createServer(serve);
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on ${(server.address() as AddressInfo).port}\n`);
});
