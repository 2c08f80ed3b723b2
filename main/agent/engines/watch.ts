import { type Clock, sleep } from '../../platform/clock.ts';
import type { AskEdges, EngineAddress, EngineMemory } from '../../engines/adapters/probe.ts';
import { ENGINE_PORTS, lookAt, type LookResult } from '../../engines/detect.ts';
import { createEngineTable } from './engine-table.ts';
import { type EnginePlace, localAddresses } from './place.ts';

export type EngineWatch = ReturnType<typeof createEngineWatch>;

interface EngineWatchOptions extends AskEdges {
  /** This program's ports, which are never tried. */
  readonly ownPorts: () => readonly number[];
  readonly pinned: EngineAddress | null;
  readonly changed: () => void;
  /** For tests. */
  readonly ports?: readonly number[];
}

/** Searching for engines: often at first, then less often. */
const SEARCH_PACE = { minMs: 5000, maxMs: 60_000 };
/** Pauses while reading known engines: a heartbeat must not report a stale health. */
const READ_PACE = { minMs: 5000, maxMs: 15_000 };
export function createEngineWatch(options: EngineWatchOptions) {
  const { clock, changed } = options;
  let { pinned, ports = ENGINE_PORTS } = options;
  /** Aborts the rounds that were started for the previous place. */
  let seeking = new AbortController();
  const stopping = new AbortController();
  const table = createEngineTable();
  /** One for each address; those that are searched are few. */
  const memories = new Map<string, EngineMemory>();
  const { promise: looked, resolve: hasLooked } = Promise.withResolvers<void>();

  function memoryOf({ origin, basePath }: EngineAddress): EngineMemory {
    const key = origin + basePath;
    const memory = memories.get(key) ?? new Map();
    memories.set(key, memory);
    return memory;
  }

  function settle(): boolean {
    const hasChanged = table.settle();
    if (hasChanged) changed();
    return hasChanged;
  }

  async function lookOnce(address: EngineAddress, signal: AbortSignal): Promise<LookResult> {
    const isPinned = pinned !== null;
    const seen = await lookAt(address, isPinned, { ...options, memory: memoryOf(address) });
    if (!signal.aborted && seen.kind !== 'not_asked')
      table.note(address, seen, { isPinned, ticks: clock.ticks() });
    return seen;
  }

  async function lookInTurn(addresses: readonly EngineAddress[], signal: AbortSignal) {
    for (const address of addresses) {
      const seen = await lookOnce(address, signal);
      if (seen.kind !== 'silent' || seen.isLate || signal.aborted) return;
    }
  }

  async function search(stopped: AbortSignal): Promise<Round> {
    const signal = AbortSignal.any([stopped, seeking.signal]);
    const places = pinned === null ? localAddresses(ports, options.ownPorts()) : [[pinned]];
    const unknown = places.filter((place) => !table.knows(place));
    await Promise.all(unknown.map((place) => lookInTurn(place, signal)));
    const hasChanged = !signal.aborted && settle();
    hasLooked();
    return hasChanged ? 'changed' : 'same';
  }

  async function readKnown(stopped: AbortSignal): Promise<Round> {
    const signal = AbortSignal.any([stopped, seeking.signal]);
    await Promise.all(table.addresses().map((address) => lookOnce(address, signal)));
    if (signal.aborted) return 'same';
    if (pinned === null) table.forgetGone(clock.ticks());
    const hasChanged = settle();
    // An engine that has disappeared may be back on another port.
    if (hasChanged) searching.runNow();
    if (table.isDoubtful()) return 'urgent';
    return hasChanged ? 'changed' : 'same';
  }

  const searching = createRepeatedTask(search, SEARCH_PACE, clock);
  const reading = createRepeatedTask(readKnown, READ_PACE, clock);
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
    engines: () => table.views(),
    /** The served engine accepts connections but has not answered for some time. */
    isStuck: () => table.isStuck(),
    /** The address of the served engine, with the credentials that the owner has set for it. */
    address: () => table.served()?.address ?? null,
    reachable: () => table.reachable(),
    /** Starts the next round at once, because something may have changed. */
    look,
    /** Reads the known engines again; resolves once that is done. */
    readNow: () => readKnown(stopping.signal),
    /** Forgets what was found and searches elsewhere from now on. */
    seek(place: Pick<EnginePlace, 'pinned' | 'ports'>) {
      ({ pinned, ports } = place);
      seeking.abort();
      seeking = new AbortController();
      table.clear();
      memories.clear();
      settle();
      look();
    },
    stop() {
      stopping.abort();
      for (const task of tasks) task.stop();
    },
  };
}

interface Pace {
  readonly minMs: number;
  readonly maxMs: number;
}

/** What a round found: `changed` makes the pauses short again, `urgent` also starts the next round at once. */
type Round = 'same' | 'changed' | 'urgent';

/** Shortest time between the starts of two rounds, however often they are hurried. */
const MIN_GAP_MS = 1000;

/**
 * Repeats `round`, one at a time. After a round in which something changed the pause is short; it doubles while nothing
 * does.
 */
function createRepeatedTask(
  round: (signal: AbortSignal) => Promise<Round>,
  { minMs, maxMs }: Pace,
  clock: Clock,
) {
  const stopping = new AbortController();
  let waking = new AbortController();
  let isRunning = false;
  let pauseMs = minMs;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      waking = new AbortController();
      const startedAt = clock.ticks();
      const found = await round(stopping.signal);
      if (found !== 'same') pauseMs = minMs;
      if (found === 'urgent') waking.abort();
      const signal = AbortSignal.any([stopping.signal, waking.signal]);
      const slept = await sleep(clock, pauseMs, signal);
      pauseMs = slept ? Math.min(pauseMs * 2, maxMs) : minMs;
      const gapMs = startedAt + MIN_GAP_MS - clock.ticks();
      if (gapMs > 0) await sleep(clock, gapMs, stopping.signal);
    }
  }

  return {
    start() {
      if (isRunning) return;
      isRunning = true;
      void run();
    },
    /** Starts the next round now and resets the pause. */
    runNow: () => waking.abort(),
    stop: () => stopping.abort(),
  };
}
