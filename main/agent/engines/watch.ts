import type { EngineView } from './adapters/engine-view.ts';
import type { AskEdges, EngineAddress } from './adapters/probe.ts';
import { ENGINE_PORTS, type EnginePlace, localAddresses } from './addresses.ts';
import { type Look, lookAt } from './detect.ts';
import { createEngineTable } from './engine-table.ts';
import { createRepeatedTask } from './repeat.ts';

/** Watches the engines of this machine. */
export interface EngineWatch {
  start(): void;
  /** Resolves once all places were looked at, whatever was found there. */
  looked(): Promise<void>;
  /** The one that is served; null where none was found. */
  engine(): EngineView | null;
  /** All that were found, with the one that is served first. */
  engines(): readonly EngineView[];
  /** The address of the one that is served, with the credentials that its owner has set for it. */
  address(): EngineAddress | null;
  /** Something may have changed: looks at once. */
  look(): void;
  /** Forgets what was found, and looks elsewhere from now on. */
  seek(place: Pick<EnginePlace, 'pinned' | 'ports'>): void;
  stop(): void;
}

/** What watching takes. */
export interface EngineWatchOptions extends AskEdges {
  /** Ports of our own, which are never asked. */
  readonly ownPorts: () => readonly number[];
  /** The engine that its owner has set: then no other is looked for. */
  readonly pinned: EngineAddress | null;
  /** Whether whole paths of model files may be shown. */
  readonly arePathsAllowed: boolean;
  /** Called when something about the engines has changed. */
  readonly changed: () => void;
  /** Only tests look elsewhere. */
  readonly ports?: readonly number[];
}

/** Looking for engines: fast at first, then seldom. */
const SEARCH_PACE = { minMs: 5000, maxMs: 60_000 };
/** Reading those that were found: a heartbeat must not tell of a health that is long past. */
const READ_PACE = { minMs: 5000, maxMs: 15_000 };
/** Makes the watch. */
export function createEngineWatch(options: EngineWatchOptions): EngineWatch {
  const { clock, changed } = options;
  let { pinned, ports = ENGINE_PORTS } = options;
  /** Ends what was begun elsewhere. */
  let seeking = new AbortController();
  const roster = createEngineTable(options.arePathsAllowed);
  const { promise: looked, resolve: hasLooked } = Promise.withResolvers<void>();

  function settle(): boolean {
    const hasChanged = roster.settle();
    if (hasChanged) changed();
    return hasChanged;
  }

  async function lookOnce(address: EngineAddress, signal: AbortSignal): Promise<Look> {
    const isPinned = pinned !== null;
    const seen = await lookAt(address, isPinned, options);
    if (!signal.aborted) roster.note(address, seen, { isPinned, ticks: clock.ticks() });
    return seen;
  }

  async function lookInTurn(addresses: readonly EngineAddress[], signal: AbortSignal) {
    for (const address of addresses) {
      const seen = await lookOnce(address, signal);
      if (seen.kind !== 'silent' || seen.isLate || signal.aborted) return;
    }
  }

  async function search(stopped: AbortSignal): Promise<boolean> {
    const signal = AbortSignal.any([stopped, seeking.signal]);
    const places = pinned === null ? localAddresses(ports, options.ownPorts()) : [[pinned]];
    const unknown = places.filter((place) => !roster.knows(place));
    await Promise.all(unknown.map((place) => lookInTurn(place, signal)));
    const hasChanged = !signal.aborted && settle();
    hasLooked();
    return hasChanged;
  }

  async function readKnown(stopped: AbortSignal): Promise<boolean> {
    const signal = AbortSignal.any([stopped, seeking.signal]);
    await Promise.all(roster.addresses().map((address) => lookOnce(address, signal)));
    if (signal.aborted) return false;
    if (pinned === null) roster.forgetGone(clock.ticks());
    const hasChanged = settle();
    // What is gone may be back on another port.
    if (hasChanged) searching.hurry();
    return hasChanged;
  }

  const searching = createRepeatedTask(search, SEARCH_PACE, clock);
  const reading = createRepeatedTask(readKnown, READ_PACE, clock);
  const cadences = [searching, reading];

  function look(): void {
    for (const cadence of cadences) cadence.hurry();
  }

  return {
    start() {
      for (const cadence of cadences) cadence.start();
    },
    looked: () => looked,
    engine: () => roster.served()?.view ?? null,
    engines: () => roster.views(),
    address: () => roster.served()?.address ?? null,
    look,
    seek(place) {
      ({ pinned, ports } = place);
      seeking.abort();
      seeking = new AbortController();
      roster.clear();
      settle();
      look();
    },
    stop() {
      for (const cadence of cadences) cadence.stop();
    },
  };
}
