import { createServer, type Socket } from 'node:net';
import { listening } from './listening.ts';
import { createLooks } from './looks.ts';

/**
 * Starts an upstream that speaks bytes, not HTTP: for framing and for answers no HTTP server would give. `answer` is called
 * when a whole request is there.
 */
export async function startRawUpstream(
  answer: (socket: Socket, n: number) => void | Promise<void> = () => {},
) {
  const requests: string[] = [];
  const sockets: Socket[] = [];
  const { look, until } = createLooks();
  const server = createServer((socket) => {
    sockets.push(socket);
    look();
    socket.setNoDelay(true);
    // The gateway closes a connection as soon as it has no use for it.
    socket.on('error', () => {});
    let text = '';
    socket.on('data', (part: Buffer) => {
      text += part.toString('latin1');
      if (!isWhole(text)) return;
      requests.push(text);
      const isChat = text.startsWith('POST');
      text = '';
      if (isChat) void answer(socket, requests.length);
      else socket.write('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n');
    });
  });
  const port = await listening(server);
  return {
    url: `http://127.0.0.1:${port}`,
    /** Those that came whole, as text. */
    requests,
    /** Resolves with the n-th connection, from 1. */
    connection: (n: number) => until(() => sockets[n - 1]),
  };
}

function isWhole(text: string): boolean {
  const head = text.indexOf('\r\n\r\n');
  if (head === -1) return false;
  const length = /^content-length: (\d+)/im.exec(text.slice(0, head))?.[1] ?? '0';
  return text.length >= head + 4 + Number(length);
}

/** How a body is delimited on the wire. */
export const FRAMINGS = ['chunked', 'length', 'close'] as const;
export type Framing = (typeof FRAMINGS)[number];

/** A response as bytes; one chunk where it is chunked. */
export function responseBytes(
  framing: Framing,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer,
): Buffer {
  const bytes = Buffer.from(body);
  const own = {
    chunked: { 'transfer-encoding': 'chunked' },
    length: { 'content-length': String(bytes.length) },
    close: { connection: 'close' },
  }[framing];
  const lines = Object.entries({ ...headers, ...own }).map(
    ([key, value]) => `${key}: ${value}\r\n`,
  );
  const head = Buffer.from(`HTTP/1.1 200 OK\r\n${lines.join('')}\r\n`);
  if (framing !== 'chunked') return Buffer.concat([head, bytes]);
  const size = Buffer.from(`${bytes.length.toString(16)}\r\n`);
  return Buffer.concat([head, size, bytes, Buffer.from('\r\n0\r\n\r\n')]);
}
