import type { Config } from '../../config/schema.ts';
import type { AskEdges, EngineAddress, EngineMemory } from '../../engines/adapters/probe.ts';
import { lookAt, type LookResult } from '../../engines/detect.ts';
import { createEngineTable } from './engine-table.ts';
import { basicAuthOf } from '../../platform/addresses.ts';
import { createRounds } from '../../platform/async.ts';

export type EngineWatch = ReturnType<typeof createEngineWatch>;

interface EngineWatchOptions extends Omit<AskEdges, 'memory'> {
  /** This program's ports, which are never tried. */
  readonly ownPorts: () => readonly number[];
  /** Set by the owner; then no other is searched for. */
  readonly pinned: EngineAddress | null;
  readonly changed: () => void;
  /** Searched while none is pinned. */
  readonly ports: readonly number[];
}

/** The pause after a search in which something changed; it doubles while nothing does. */
const MIN_PAUSE_MS = 5000;
const MAX_SEARCH_PAUSE_MS = 60_000;
/** The owner who stops an engine sees it, and a heartbeat must not report a stale health. */
const READ_PAUSE_MS = 5000;
/** Shortest time between the starts of two rounds, and the pause after one that was asked for. */
const MIN_GAP_MS = 1000;

export function createEngineWatch(options: EngineWatchOptions) {
  const { clock, changed, ports } = options;
  let { pinned } = options;
  /** Aborts the rounds that were started for the previous place. */
  let seeking = new AbortController();
  const stopping = new AbortController();
  const table = createEngineTable();
  const memory: EngineMemory = new Map();
  const { promise: looked, resolve: hasLooked } = Promise.withResolvers<void>();

  function settle(): boolean {
    const hasChanged = table.settle(clock.ticks());
    if (hasChanged) changed();
    return hasChanged;
  }

  async function lookOnce(address: EngineAddress, signal: AbortSignal): Promise<LookResult> {
    const isPinned = pinned !== null;
    const seen = await lookAt(address, isPinned, { ...options, memory });
    if (!signal.aborted && seen.kind !== 'not_asked')
      table.note(address, seen, isPinned, clock.ticks());
    return seen;
  }

  /** Looks at one address after another, until a program answers at one, even if late. */
  async function lookInTurn(
    addresses: readonly EngineAddress[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const address of addresses) {
      const seen = await lookOnce(address, signal);
      if (seen.kind === 'silent' ? seen.isLate : seen.kind !== 'not_asked') return;
    }
  }

  /** Returns whether something has changed. */
  async function search(stopped: AbortSignal): Promise<boolean> {
    const signal = AbortSignal.any([stopped, seeking.signal]);
    const places = pinned === null ? localAddresses(ports, options.ownPorts()) : [[pinned]];
    const free = places.filter((place) => !table.answersAt(place));
    await Promise.all(free.map((place) => lookInTurn(place, signal)));
    const hasChanged = !signal.aborted && settle();
    if (hasChanged && table.isDoubtful(clock.ticks())) reading.runNow();
    hasLooked();
    return hasChanged;
  }

  async function readKnown(stopped: AbortSignal): Promise<boolean> {
    const signal = AbortSignal.any([stopped, seeking.signal]);
    await Promise.all(table.reachable().map(({ address }) => lookOnce(address, signal)));
    if (signal.aborted) return false;
    table.forgetGone(clock.ticks());
    const hasChanged = settle();
    // An engine that has disappeared may be back on another port.
    if (hasChanged) searching.runNow();
    if (table.isDoubtful(clock.ticks())) reading.runNow();
    return hasChanged;
  }

  function repeated(round: (signal: AbortSignal) => Promise<boolean>, maxPauseMs: number) {
    let pauseMs = MIN_PAUSE_MS / 2;
    return createRounds(
      async (signal, isHurried) => {
        const isShort = await round(signal);
        if (isHurried) pauseMs = MIN_GAP_MS;
        else pauseMs = isShort ? MIN_PAUSE_MS : Math.min(pauseMs * 2, maxPauseMs);
        return pauseMs;
      },
      { clock, minGapMs: MIN_GAP_MS },
    );
  }

  const searching = repeated(search, MAX_SEARCH_PAUSE_MS);
  const reading = repeated(readKnown, READ_PAUSE_MS);
  const tasks = [searching, reading];

  function look(): void {
    for (const task of tasks) task.runNow();
  }

  return {
    start() {
      for (const task of tasks) task.start();
    },
    /** Resolves once every address has been tried, whatever was found. */
    looked: () => looked,
    /** The engine that is served; null if none was found. */
    engine: () => table.served()?.view ?? null,
    /** All engines found, the served one first. */
    engines: () => table.reachable().map(({ view }) => view),
    /** The served engine accepts connections but has not answered for some time. */
    isStuck: () => table.isStuck(),
    /** Where requests to the served engine go, with the credentials that the owner has set for it. */
    target(): EngineAddress | null {
      const served = table.served();
      if (served === null) return null;
      const { origin } = served.address;
      return { ...served.address, basePath: served.view.baseUrl.slice(origin.length) };
    },
    reachable: () => table.reachable(),
    /** Starts the next round at once, because something may have changed. */
    look,
    /** Reads the known engines again; resolves once that is done. */
    async readNow() {
      await readKnown(stopping.signal);
    },
    /** Forgets what was found and searches elsewhere from now on. */
    seek(next: EngineAddress | null) {
      pinned = next;
      seeking.abort();
      seeking = new AbortController();
      table.clear();
      memory.clear();
      settle();
      look();
    },
    stop() {
      stopping.abort();
      for (const task of tasks) void task.stop();
    },
  };
}

/** Both loopback addresses: a server on `localhost` may have bound only one of them. */
const LOOPBACK_HOSTS = ['127.0.0.1', '[::1]'];

/**
 * For each port, the addresses at which an engine of this machine may listen. Our own ports are left out, because this
 * program answers like an engine.
 */
function localAddresses(
  ports: readonly number[],
  ownPorts: readonly number[],
): readonly (readonly EngineAddress[])[] {
  return ports
    .filter((port) => !ownPorts.includes(port))
    .map((port) =>
      LOOPBACK_HOSTS.map((host) => ({
        origin: `http://${host}:${port}`,
        basePath: '',
        authorization: null,
      })),
    );
}

/**
 * The engine that the owner has set; null if one is searched for. Its address may have `/v1` at its end. The key is sent only
 * to that address: any program may listen on a port that was found by searching.
 */
export function pinnedEngine({
  engineUrl,
  engineApiKey: apiKey,
}: Pick<Config['agent'], 'engineUrl' | 'engineApiKey'>): EngineAddress | null {
  if (engineUrl === null) return null;
  const url = new URL(engineUrl);
  const authorization = apiKey === null ? basicAuthOf(url) : `Bearer ${apiKey}`;
  const basePath = url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
  return { origin: url.origin, basePath, authorization };
}
