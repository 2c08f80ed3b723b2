import { join } from 'node:path';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import type { AppInfo, LiveEvent, LiveSnapshot } from '#shared/live.ts';
import type { LoadedConfig } from './config.ts';
import { createLiveConfig } from './config/live-config.ts';
import type { LocalChoice } from './gateway/request/calls.ts';
import { createGateway } from './gateway/gateway.ts';
import { createLocalEngine, type LocalEngine } from './gateway/watch/local-engine.ts';
import { identityOf } from './gateway/watch/memory.ts';
import type { Route } from './gateway/surface/routes.ts';
import type { Clock } from './platform/clock.ts';
import { controlToken } from './platform/control-token.ts';
import { createHttpClient } from './platform/http/client.ts';
import type { Log } from './platform/log.ts';
import { createStateFile } from './platform/state-file.ts';
import { VERSION } from './version.ts';

/** What a host is made from. */
export interface HostOptions {
  readonly loaded: LoadedConfig;
  readonly dataDirectory: string;
  /** Directory of the built window. */
  readonly windowDirectory: string;
  /** The demo's routes and switches; absent in the real program. */
  readonly demo?: {
    readonly routes: readonly Route[];
    readonly view: () => NonNullable<AppInfo['demo']>;
  };
}

/** What a host is given of the world. */
export interface HostEdges {
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}

/** One running Switchyard: the same for the desktop, a server and a test. */
export interface Host {
  /** Rejects with a message for people when an address cannot be bound. */
  start(): Promise<{ readonly url: string; readonly baseUrl: string }>;
  /** Running requests may finish for up to 30 s. */
  stop(): Promise<void>;
  snapshot(): LiveSnapshot;
  subscribe(listener: (event: LiveEvent) => void): () => void;
  setWarmup(enabled: boolean): Promise<WarmupChange>;
  controlLink(): string;
  /** Tells the window that something outside of the gateway changed. */
  changed(): void;
}

/** Whether the switch was turned; a refusal says why, for people. */
export type WarmupChange = { readonly ok: true } | { readonly ok: false; readonly message: string };

const STOP_GRACE_MS = 30_000;

/** The composition root: hands the parts to each other as functions. */
export function createHost(options: HostOptions, { clock, random, log }: HostEdges): Host {
  const { loaded, dataDirectory, windowDirectory, demo } = options;
  const http = createHttpClient();
  let engine: LocalEngine | null = null;
  const config = createLiveConfig(loaded, dataDirectory, (now, before) => {
    if (now.local.baseUrl !== before.local.baseUrl) watchEngine(now.local.baseUrl);
    for (const id of UPSTREAM_IDS) {
      if (identityOf(now, id) !== identityOf(before, id)) gateway.upstreamChanged(id);
    }
    gateway.feed.changed();
  });

  function watchEngine(baseUrl: string | null): void {
    engine?.stop();
    engine =
      baseUrl === null
        ? null
        : createLocalEngine(baseUrl, { http, clock }, () => gateway.feed.changed());
    engine?.start();
  }

  function pickLocal(): LocalChoice {
    return engine === null
      ? { kind: 'none', reason: 'not_configured' }
      : { kind: 'target', target: engine.target() };
  }

  const gateway = createGateway({
    config: () => config.current(),
    settings: { view: () => config.view(), patch: (tree) => config.patch(tree) },
    http,
    clock,
    random,
    log,
    pickLocal,
    keep: (save) => createStateFile(join(dataDirectory, 'state.json'), save, { clock, log }),
    controlToken: controlToken(dataDirectory),
    windowDirectory,
    moreRoutes: demo?.routes ?? [],
    app: () => ({
      version: VERSION,
      warmupEnabled: config.current().ondemand.warmup,
      ...(demo === undefined ? {} : { demo: demo.view() }),
    }),
  });

  return {
    async start() {
      const started = await gateway.start();
      if (!started.ok) throw new Error(started.message);
      watchEngine(config.current().local.baseUrl);
      return { url: gateway.url(), baseUrl: gateway.baseUrl() };
    },
    async stop() {
      engine?.stop();
      await gateway.stop(STOP_GRACE_MS);
      await http.close();
    },
    snapshot: () => gateway.snapshot(),
    subscribe: (listener) => gateway.feed.subscribe(listener),
    setWarmup(enabled) {
      const patched = config.patch({ ondemand: { warmup: enabled } });
      return Promise.resolve(
        patched.kind === 'patched' ? { ok: true } : { ok: false, message: patched.message },
      );
    },
    controlLink: () => gateway.controlLink(),
    changed: () => gateway.feed.changed(),
  };
}

/** Where `npm run build` puts the window, seen from a source file of main/. */
export const WINDOW_DIRECTORY = join(import.meta.dirname, '../dist/window');
