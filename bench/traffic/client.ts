import { connect as connectSocket } from 'node:net';
import { createAnswerReader, type AnswerListener } from './answer-reader.ts';

/** One kept connection to a target; one request at a time. */
export interface Connection {
  /** Sends a request and reads its answer to the end; rejects when the connection breaks. */
  ask(request: Buffer, listener: AnswerListener): Promise<void>;
  close(): void;
}

const NOBODY: AnswerListener = {
  onStatus() {
    throw new Error('an answer that nobody asked for');
  },
  onBody() {
    throw new Error('bytes that nobody asked for');
  },
};

/** Connects to a port of this machine. */
export function connect(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = connectSocket({ host: '127.0.0.1', port, noDelay: true });
    let listener = NOBODY;
    let settle: { readonly done: () => void; readonly fail: (error: Error) => void } | null = null;
    const reader = createAnswerReader({
      onStatus: (status) => listener.onStatus(status),
      onBody: (piece) => listener.onBody(piece),
    });
    const end = (error: Error) => {
      reject(error);
      settle?.fail(error);
      socket.destroy();
    };
    socket.on('data', (piece) => {
      try {
        if (!reader.push(piece)) return;
      } catch (error) {
        end(error instanceof Error ? error : new Error('unreadable answer'));
        return;
      }
      const done = settle?.done;
      listener = NOBODY;
      settle = null;
      done?.();
    });
    socket.on('error', end);
    socket.on('close', () => end(new Error('the connection was closed')));
    socket.on('connect', () =>
      resolve({
        ask: (request, answerListener) =>
          new Promise((done, fail) => {
            listener = answerListener;
            settle = { done, fail };
            socket.write(request);
          }),
        close: () => socket.destroy(),
      }),
    );
  });
}

/** The bytes of a POST as a client sends it. */
export function postBytes(
  {
    port,
    path,
    extra,
  }: {
    readonly port: number;
    readonly path: string;
    readonly extra: Readonly<Record<string, string>>;
  },
  body: Buffer,
): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    'User-Agent: switchyard-bench',
    'Accept: application/json',
    'Content-Type: application/json',
    'Authorization: Bearer bench',
    `Content-Length: ${body.length}`,
    ...Object.entries(extra).map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
}
