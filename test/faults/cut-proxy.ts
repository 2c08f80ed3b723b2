import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** The way to a server, as good as it is made. */
export interface CutProxy {
  readonly port: number;
  /** Ends all connections and refuses new ones. */
  cut(): void;
  /** Passes nothing on, without a word; what is sent meanwhile arrives when it is well again. */
  silence(): void;
  heal(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
}

/** Leads to `targetPort` on this machine. */
export async function startCutProxy(targetPort: number): Promise<CutProxy> {
  let way: 'well' | 'cut' | 'silent' = 'well';
  const pairs = new Set<Pair>();
  /** Connections that were made while nothing was passed on. */
  const waiting = new Set<Socket>();

  function pass({ near, far }: Pair): void {
    near.pipe(far);
    far.pipe(near);
  }

  function hold({ near, far }: Pair): void {
    near.unpipe(far).pause();
    far.unpipe(near).pause();
  }

  function join(near: Socket): void {
    const far = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    const pair = { near, far };
    pairs.add(pair);
    for (const socket of [near, far]) {
      socket.on('error', () => {});
      socket.on('close', () => {
        pairs.delete(pair);
        near.destroy();
        far.destroy();
      });
    }
    pass(pair);
  }

  const server: Server = createServer({ noDelay: true }, (near) => {
    near.on('error', () => {});
    if (way === 'cut') near.destroy();
    else if (way === 'well') join(near);
    else {
      near.pause();
      waiting.add(near);
      near.on('close', () => waiting.delete(near));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  function cut(): void {
    way = 'cut';
    for (const near of waiting) near.destroy();
    for (const { near, far } of pairs) {
      near.resetAndDestroy();
      far.destroy();
    }
  }

  return {
    port,
    cut,
    silence() {
      way = 'silent';
      for (const pair of pairs) hold(pair);
    },
    heal() {
      way = 'well';
      for (const pair of pairs) pass(pair);
      for (const near of waiting) join(near);
      waiting.clear();
    },
    async close() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
