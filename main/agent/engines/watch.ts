import { ENGINE_PORTS, localAddresses } from './addresses.ts';
import type { AskEdges, EngineAddress } from './ask.ts';
import { createCadence } from './cadence.ts';
import { chosen } from './choose.ts';
import { lookAt, type Look } from './detect.ts';
import { found, missed, unseen, type KnownEngine } from './known-engine.ts';
import type { EngineView } from './view.ts';

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
/** An engine that is gone for so long is not waited for any more. */
const FORGET_MS = 600_000;

/** Makes the watch. */
export function createEngineWatch(options: EngineWatchOptions): EngineWatch {
  const { clock, pinned, arePathsAllowed, changed } = options;
  const known = new Map<string, KnownEngine>();
  let serving: string | null = null;
  let shown = '[null,[]]';
  const { promise: looked, resolve: hasLooked } = Promise.withResolvers<void>();

  const views = () => [...known.values()].map(({ view }) => view);

  /** Tells whether anything but the counters is different from what was shown last. */
  function settle(): boolean {
    const engine = chosen(views(), serving);
    serving = engine?.baseUrl ?? null;
    const now = JSON.stringify([
      serving,
      views().map((view) => ({ ...view, metrics: null, decodeTps: null })),
    ]);
    if (now === shown) return false;
    shown = now;
    changed();
    return true;
  }

  async function lookOnce(address: EngineAddress, signal: AbortSignal): Promise<Look> {
    const key = keyOf(address);
    const look = await lookAt(address, pinned !== null, options);
    if (signal.aborted) return look;
    const before = known.get(key) ?? (pinned === null ? null : unseen(address));
    if (look.kind === 'found') {
      known.set(key, found(address, look.found, { arePathsAllowed, before }));
    } else if (before !== null) {
      known.set(key, missed(before, look, clock.ticks()));
    }
    return look;
  }

  async function lookInTurn(addresses: readonly EngineAddress[], signal: AbortSignal) {
    for (const address of addresses) {
      const look = await lookOnce(address, signal);
      if (look.kind !== 'silent' || look.isLate || signal.aborted) return;
    }
  }

  async function search(signal: AbortSignal): Promise<boolean> {
    const ports = options.ports ?? ENGINE_PORTS;
    const places = pinned === null ? localAddresses(ports, options.ownPorts()) : [[pinned]];
    const unknown = places.filter((place) => !place.some((each) => known.has(keyOf(each))));
    await Promise.all(unknown.map((place) => lookInTurn(place, signal)));
    const hasChanged = !signal.aborted && settle();
    hasLooked();
    return hasChanged;
  }

  async function readKnown(signal: AbortSignal): Promise<boolean> {
    const addresses = [...known.values()].map(({ address }) => address);
    await Promise.all(addresses.map((address) => lookOnce(address, signal)));
    if (signal.aborted) return false;
    for (const [key, { goneAt }] of known) {
      if (pinned === null && goneAt !== null && clock.ticks() - goneAt >= FORGET_MS)
        known.delete(key);
    }
    const hasChanged = settle();
    // What is gone may be back on another port.
    if (hasChanged) searching.hurry();
    return hasChanged;
  }

  const searching = createCadence(search, SEARCH_PACE, clock);
  const reading = createCadence(readKnown, READ_PACE, clock);
  const cadences = [searching, reading];

  return {
    start() {
      for (const cadence of cadences) cadence.start();
    },
    looked: () => looked,
    engine: () => views().find(({ baseUrl }) => baseUrl === serving) ?? null,
    engines: () => views().toSorted((a, b) => rank(a, serving) - rank(b, serving)),
    address: () =>
      [...known.values()].find(({ view }) => view.baseUrl === serving)?.address ?? null,
    look() {
      for (const cadence of cadences) cadence.hurry();
    },
    stop() {
      for (const cadence of cadences) cadence.stop();
    },
  };
}

function keyOf({ origin, basePath }: EngineAddress): string {
  return origin + basePath;
}

function rank({ baseUrl }: EngineView, serving: string | null): number {
  return baseUrl === serving ? 0 : 1;
}
