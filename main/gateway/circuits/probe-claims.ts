import { CLAIM_MS } from '#shared/pool-news.ts';
import type { Clock } from '../../platform/clock.ts';

/** The rights of this gateway to send the probe of a circuit, which one gateway of a pool has at a time. */
export interface ProbeClaims {
  /** Whether it has the right; without it, asks for it. */
  has(id: string): boolean;
  /** Asks for it, as soon as the next exchange. */
  want(id: string): void;
  /** Needs it no longer. */
  drop(id: string): void;
  /** What to tell the others: ids. */
  told(): { readonly claims: readonly string[]; readonly released: readonly string[] };
  /** Takes the answer to what was told at `toldTicks`. */
  heard(
    claims: readonly { readonly id: string; readonly isWanted: boolean }[],
    toldTicks: number,
  ): void;
}

interface ClaimsDeps {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** Its probe could begin with the next request, and none is running. */
  readonly isUnused: (id: string) => boolean;
  readonly wanted: () => void;
}

interface Claim {
  readonly sinceTicks: number;
  readonly untilTicks: number;
}

/** The holder stops this much earlier than others may begin. */
const MARGIN_MS = 1000;
/** A wish that no request repeats is over after this time. */
const WISH_MS = 3000;
/** A claim is not given up to others before. */
const OWN_TURN_MS = 1000;
/** Claims are renewed every second: those of circuits that nobody asks for make room. */
const MAX_CLAIMS = 64;

export function createProbeClaims({ clock, random, isUnused, wanted }: ClaimsDeps): ProbeClaims {
  const held = new Map<string, Claim>();
  /** By id: when a request last wanted it. */
  const wishes = new Map<string, number>();
  const released = new Set<string>();

  function want(id: string): void {
    if (held.has(id)) return;
    if (!wishes.has(id)) wanted();
    wishes.set(id, clock.ticks());
  }

  function drop(id: string): void {
    wishes.delete(id);
    if (held.delete(id)) released.add(id);
  }

  function makeRoom(): void {
    for (const id of held.keys()) {
      if (held.size + wishes.size <= MAX_CLAIMS) return;
      if (isUnused(id)) drop(id);
    }
  }

  return {
    has(id) {
      if ((held.get(id)?.untilTicks ?? -Infinity) > clock.ticks()) return true;
      want(id);
      return false;
    },
    want,
    drop,
    told() {
      for (const [id, ticks] of wishes) if (clock.ticks() - ticks > WISH_MS) wishes.delete(id);
      makeRoom();
      const claims = [...held.keys(), ...wishes.keys()].slice(0, MAX_CLAIMS);
      const told = { claims, released: [...released].filter((id) => !claims.includes(id)) };
      released.clear();
      return told;
    },
    heard(claims, toldTicks) {
      const known: ReadonlyMap<string, Claim> = new Map(held);
      held.clear();
      for (const { id, isWanted } of claims) {
        const sinceTicks = known.get(id)?.sinceTicks ?? clock.ticks();
        // What was dropped meanwhile goes back with the next exchange.
        if (!known.has(id) && !wishes.has(id)) {
          released.add(id);
          continue;
        }
        wishes.delete(id);
        held.set(id, { sinceTicks, untilTicks: toldTicks + CLAIM_MS - MARGIN_MS });
        // By chance, so that two gateways with few requests do not pass it to and fro for ever.
        const isTheirTurn = isWanted && clock.ticks() - sinceTicks > OWN_TURN_MS && isUnused(id);
        if (isTheirTurn && random() < 0.5) drop(id);
      }
    },
  };
}
