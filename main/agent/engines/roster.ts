import type { EngineAddress } from './ask.ts';
import { chosen } from './choose.ts';
import type { Look } from './detect.ts';
import { found, missed, unseen, type KnownEngine } from './known-engine.ts';
import type { EngineView } from './view.ts';

/** The engines that were found, and the one of them that is served. */
export interface EngineRoster {
  /** Whether one is known at any of these. */
  knows(addresses: readonly EngineAddress[]): boolean;
  addresses(): readonly EngineAddress[];
  /** What came of a look; one that is `pinned` is known even before it was found. */
  note(address: EngineAddress, look: Look, at: NotedAt): void;
  /** Lets go of those that are gone for too long. */
  forgetGone(ticks: number): void;
  clear(): void;
  /** Chooses whom to serve; tells whether anything but the counters is different from before. */
  settle(): boolean;
  served(): KnownEngine | null;
  /** All of them, the one that is served first. */
  views(): readonly EngineView[];
}

interface NotedAt {
  readonly ticks: number;
  readonly isPinned: boolean;
}

/** An engine that is gone for so long is not waited for any more. */
const FORGET_MS = 600_000;

/** Makes an empty one. */
export function createEngineRoster(arePathsAllowed: boolean): EngineRoster {
  const known = new Map<string, KnownEngine>();
  let serving: string | null = null;
  let shown = '[null,[]]';

  const all = () => [...known.values()].map(({ view }) => view);
  const rank = ({ baseUrl }: EngineView) => (baseUrl === serving ? 0 : 1);

  return {
    knows: (addresses) => addresses.some((address) => known.has(keyOf(address))),
    addresses: () => [...known.values()].map(({ address }) => address),
    note(address, look, { ticks, isPinned }) {
      const key = keyOf(address);
      const before = known.get(key) ?? (isPinned ? unseen(address) : null);
      if (look.kind === 'found') {
        known.set(key, found(address, look.found, { arePathsAllowed, before }));
      } else if (before !== null) {
        known.set(key, missed(before, look, ticks));
      }
    },
    forgetGone(ticks) {
      for (const [key, { goneAt }] of known) {
        if (goneAt !== null && ticks - goneAt >= FORGET_MS) known.delete(key);
      }
    },
    clear: () => known.clear(),
    settle() {
      serving = chosen(all(), serving)?.baseUrl ?? null;
      const now = JSON.stringify([
        serving,
        all().map((view) => ({ ...view, metrics: null, decodeTps: null })),
      ]);
      if (now === shown) return false;
      shown = now;
      return true;
    },
    served: () => [...known.values()].find(({ view }) => view.baseUrl === serving) ?? null,
    views: () => all().toSorted((a, b) => rank(a) - rank(b)),
  };
}

function keyOf({ origin, basePath }: EngineAddress): string {
  return origin + basePath;
}
