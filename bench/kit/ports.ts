import { randomInt } from 'node:crypto';
import { connect, createServer } from 'node:net';

/** Linux gives outgoing connections ports from 32768 on; one of those may be taken before it is listened on. */
const LOWEST = 20_000;
const HIGHEST = 32_000;

/** A port that was free a moment ago: for who cannot choose one and tell. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Resolves when something listens on `port`; rejects after 15 s. */
export async function untilListening(port: number): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    if (await isOpen(port)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing listens on port ${port} after 15 s`);
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}
