import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import type { Config } from '../../config/schema.ts';
import { type Clock, sleep } from '../../platform/clock.ts';
import { isLoopbackHost } from '../../platform/http/server.ts';
import type { Log } from '../../platform/log.ts';
import { bind, type Bound, type Listening, type Move, prepareMove, urlsOf } from './listeners.ts';

export type Started =
  | { readonly ok: true }
  /** `isPortTaken`: by another program, so that another port would do. */
  | { readonly ok: false; readonly isPortTaken: boolean; readonly message: string };

export interface Lifecycle {
  start(config: Config): Promise<Started>;
  /** Refuses new requests, and ends running ones after `graceMs`. */
  stop(graceMs: number): Promise<void>;
  /**
   * Listens at the addresses of another host as well, without a restart; the old ones are given up once the change
   * is taken.
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
      /** Gives up the old addresses; requests that run there go on. */
      readonly take: () => void;
      /** Gives up the new ones. */
      readonly drop: () => void;
    }
  | { readonly kind: 'at_restart' }
  | { readonly kind: 'failed'; readonly message: string };

const NOT_NOW = {
  kind: 'failed',
  message: 'The gateway is starting, stopping or changing its address; try again in a moment.',
} as const;

/** Wait for readers of event streams to read to the end, before their connections are closed. */
const STREAM_END_MS = 500;

/** Told why the start waits; null: a port that is taken is not waited for. */
export type OnPortTaken = ((message: string) => void) | null;

interface LifecycleEdges {
  readonly clock: Clock;
  readonly log: Log;
  readonly onPortTaken: OnPortTaken;
}

/** `makeServer` is called once per bound address. */
export function createLifecycle(
  makeServer: () => Server,
  { clock, log, onPortTaken }: LifecycleEdges,
): Lifecycle {
  const streams = new Set<ServerResponse>();
  /** Servers of addresses that were given up, on which requests still run. */
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
    // A connection that stays open would otherwise carry requests for as long as its caller likes.
    server.prependListener('request', (_req, res) => void res.setHeader('connection', 'close'));
    retired.add(server);
    void closed(server).then(() => retired.delete(server));
  }

  function take({ next, retired: old }: Extract<Move, { readonly kind: 'ready' }>): void {
    isMoving = false;
    listenAt(next);
    for (const { server } of old) retire(server);
    // Readers come again at an address that is still served.
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
      const bound = await bindPatiently(tryBind, clock, onPortTaken);
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
      const drop = () => {
        isMoving = false;
        if (move.kind === 'ready') for (const { server } of move.added) server.close();
      };
      if (move.kind === 'ready' && !stopping)
        return { kind: 'ready', take: () => take(move), drop };
      drop();
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

/** The default port lies in the range from which Linux takes ports for outgoing connections. */
const PATIENCE_MS = 5000;
const RETRY_MS = 250;

async function bindPatiently(
  tryBind: () => Promise<Bound>,
  clock: Clock,
  onPortTaken: OnPortTaken,
): Promise<Bound> {
  const untilTicks = clock.ticks() + PATIENCE_MS;
  const never = new AbortController().signal;
  for (let tries = 1; ; tries += 1) {
    const bound = await tryBind();
    if (bound.kind === 'bound' || onPortTaken === null || !bound.mayPass) return bound;
    if (clock.ticks() >= untilTicks) return bound;
    if (tries === 1) onPortTaken(`${bound.message} Waiting up to ${PATIENCE_MS / 1000} s for it.`);
    await sleep(clock, RETRY_MS, never);
  }
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
