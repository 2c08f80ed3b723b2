import type { Server, ServerResponse } from 'node:http';
import type { Config } from '../../config.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { bind, type Listeners } from './listeners.ts';

export type Started = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** The gateway's life as a server: bound, running, stopping. */
export interface Lifecycle {
  start(config: Config): Promise<Started>;
  /** Takes no new requests; running ones may finish for `graceMs`, then they are ended. */
  stop(graceMs: number): Promise<void>;
  isStopping(): boolean;
  /** Empty before the start. */
  url(): string;
  baseUrl(): string;
  /** Where other machines reach it. */
  outsideUrl(): string;
  /** An event stream never finishes by itself: it is ended when the gateway stops. */
  endAtStop(stream: ServerResponse): void;
}

/** A reader of an event stream that does not read its end by then is not waited for. */
const STREAM_END_MS = 500;

/** Makes it around the server that `makeServer` makes, one per bound address. */
export function createLifecycle(makeServer: () => Server, clock: Clock, log: Log): Lifecycle {
  const streams = new Set<ServerResponse>();
  let listeners: Listeners | null = null;
  let stopping = false;
  return {
    async start({ gateway }) {
      const bound = await bind(gateway.host, gateway.port, makeServer, clock);
      if (bound.kind === 'failed') return { ok: false, message: bound.message };
      ({ listeners } = bound);
      log('info', 'started', { url: listeners.url });
      return { ok: true };
    },
    async stop(graceMs) {
      stopping = true;
      for (const stream of streams) stream.end();
      const cancelTimer = clock.after(STREAM_END_MS, () => {
        for (const stream of streams) stream.destroy();
      });
      await listeners?.close(graceMs);
      cancelTimer();
      log('info', 'stopped');
    },
    isStopping: () => stopping,
    url: () => listeners?.url ?? '',
    baseUrl: () => listeners?.baseUrl ?? '',
    outsideUrl: () => listeners?.outsideUrl ?? '',
    endAtStop(stream) {
      streams.add(stream);
      stream.on('close', () => streams.delete(stream));
    },
  };
}
