import { createServer } from 'node:net';

/** Outside the default ports of gateways and agents. */
const FIRST = 47_910;
const LAST = 47_999;

/** A free loopback port for a gateway whose own is taken; null if none is free. */
export async function freePort(first = FIRST, last = LAST): Promise<number | null> {
  for (let port = first; port <= last; port++) {
    if (await isFree(port)) return port;
  }
  return null;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () =>
      server.close(() => resolve(true)),
    );
  });
}
