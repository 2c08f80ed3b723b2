import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import type { Config } from '../../config/schema.ts';
import { type Clock, sleep } from '../../platform/clock.ts';
import { isLoopbackHost } from '../../platform/http/server.ts';
import type { Log } from '../../platform/log.ts';
import { bind, type Bound, type Listening, type Move, prepareMove, urlsOf } from './listeners.ts';

export type Started =
  | { readonly ok: true }
  /** `isPortTaken`: by another program, so that another port would work. */
  | { readonly ok: false; readonly isPortTaken: boolean; readonly message: string };

export interface Lifecycle {
  start(config: Config): Promise<Started>;
  /** Refuses new requests, and ends running ones after `graceMs`. */
  stop(graceMs: number): Promise<void>;
  /**
   * Listens on the addresses of another host as well, without a restart; the old ones are closed once the move is
   * committed.
   */
  prepareMove(host: string): Promise<PreparedMove>;
  readonly isStopping: () => boolean;
  /** Empty before the start. */
  readonly url: () => string;
  readonly baseUrl: () => string;
  /** Whether it listens beyond loopback. */
  readonly isShared: () => boolean;
  /** The address for other machines; loopback if the gateway is bound to it. */
  readonly outsideUrl: () => string;
  /** Ends an event stream, which never finishes by itself, when the gateway stops. */
  readonly endAtStop: (stream: ServerResponse) => void;
}

export type PreparedMove =
  | {
      readonly kind: 'ready';
      /** Closes the old addresses; requests that run there continue. */
      readonly commit: () => void;
      /** Closes the new ones. */
      readonly rollBack: () => void;
    }
  | { readonly kind: 'at_restart' }
  | { readonly kind: 'failed'; readonly message: string };

const NOT_NOW = {
  kind: 'failed',
  message: 'The gateway is starting, stopping or changing its address; try again in a moment.',
} as const;

/** How long readers of event streams may read to the end before their connections are closed. */
const STREAM_END_MS = 500;

/** Called with why the start is waiting; null if a taken port is not waited for. */
export type OnPortTaken = ((message: string) => void) | null;

interface LifecycleDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly onPortTaken: OnPortTaken;
}

/** `makeServer` is called once per bound address. */
export function createLifecycle(
  makeServer: () => Server,
  { clock, log, onPortTaken }: LifecycleDeps,
): Lifecycle {
  const streams = new Set<ServerResponse>();
  /** Servers of closed addresses, on which requests still run. */
  const retired = new Set<Server>();
  let listening: Listening | null = null;
  let isShared = false;
  let stopping = false;
  let isMoving = false;
  const urls = () => (listening === null ? null : urlsOf(listening));

  function listenAt(next: Listening): void {
    listening = next;
    isShared = next.listeners.some(({ address }) => !isLoopbackHost(address));
  }

  function retire(server: Server): void {
    // Otherwise a caller could send requests over an open connection for as long as it likes.
    server.prependListener('request', (_req, res) => void res.setHeader('connection', 'close'));
    retired.add(server);
    void closed(server).then(() => retired.delete(server));
  }

  function commit({ next, retired: old }: Extract<Move, { readonly kind: 'ready' }>): void {
    isMoving = false;
    listenAt(next);
    for (const { server } of old) retire(server);
    // Readers reconnect to an address that is still served.
    if (old.length > 0) for (const stream of streams) stream.end();
    log('info', 'listening', { url: urlsOf(next).outsideUrl });
  }

  /** Refuses new connections; resolves when all are closed, by force after `graceMs`. */
  async function close(graceMs: number): Promise<void> {
    const bound = listening?.listeners.map(({ server }) => server) ?? [];
    const cancelGrace = clock.after(graceMs, () => {
      for (const server of [...bound, ...retired]) server.closeAllConnections();
    });
    const draining = [...retired].map((server) => once(server, 'close'));
    await Promise.all([...bound.map(closed), ...draining]);
    cancelGrace();
  }

  return {
    async start({ gateway }) {
      const tryBind = () => bind(gateway.host, gateway.port, makeServer);
      const bound = await bindWithRetries(tryBind, clock, onPortTaken);
      if (bound.kind === 'failed') {
        return { ok: false, isPortTaken: bound.isPortTaken, message: bound.message };
      }
      listenAt(bound.listening);
      log('info', 'started', { url: urlsOf(bound.listening).url });
      return { ok: true };
    },
    async stop(graceMs) {
      stopping = true;
      for (const stream of streams) stream.end();
      const cancelTimer = clock.after(STREAM_END_MS, () => {
        for (const stream of streams) stream.destroy();
      });
      await close(graceMs);
      cancelTimer();
      log('info', 'stopped');
    },
    async prepareMove(host) {
      if (listening === null || isMoving || stopping) return NOT_NOW;
      isMoving = true;
      const move = await prepareMove(listening, host, makeServer);
      const rollBack = () => {
        isMoving = false;
        if (move.kind === 'ready') for (const { server } of move.added) server.close();
      };
      if (move.kind === 'ready' && !stopping)
        return { kind: 'ready', commit: () => commit(move), rollBack };
      rollBack();
      return move.kind === 'ready' ? NOT_NOW : move;
    },
    isStopping: () => stopping,
    url: () => urls()?.url ?? '',
    baseUrl: () => urls()?.baseUrl ?? '',
    isShared: () => isShared,
    outsideUrl: () => urls()?.outsideUrl ?? '',
    endAtStop(stream) {
      streams.add(stream);
      stream.on('close', () => streams.delete(stream));
    },
  };
}

/** The default port is in the range that Linux uses for outgoing connections, so it may be taken for a moment. */
const MAX_WAIT_MS = 5000;
const RETRY_MS = 250;

async function bindWithRetries(
  tryBind: () => Promise<Bound>,
  clock: Clock,
  onPortTaken: OnPortTaken,
): Promise<Bound> {
  const untilTicks = clock.ticks() + MAX_WAIT_MS;
  const never = new AbortController().signal;
  for (let tries = 1; ; tries += 1) {
    const bound = await tryBind();
    if (bound.kind === 'bound' || onPortTaken === null || !bound.isTransient) return bound;
    if (clock.ticks() >= untilTicks) return bound;
    if (tries === 1) onPortTaken(`${bound.message} Waiting up to ${MAX_WAIT_MS / 1000} s for it.`);
    await sleep(clock, RETRY_MS, never);
  }
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
