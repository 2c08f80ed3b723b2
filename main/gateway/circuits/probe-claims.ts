import { CLAIM_MS } from '#shared/pool-news.ts';
import type { Clock } from '../../platform/clock.ts';

/** The circuits whose probe this gateway may send; for each circuit one gateway of a pool may at a time. */
export interface ProbeClaims {
  /** Whether this gateway may probe; if not, asks for the claim. */
  has(id: string): boolean;
  /** Asks for the claim in the next exchange. */
  want(id: string): void;
  /** Gives the claim up. */
  drop(id: string): void;
  /** Ids to send to the others. */
  told(): { readonly claims: readonly string[]; readonly released: readonly string[] };
  /** Takes the answer to what was sent at `toldTicks`. */
  heard(
    claims: readonly { readonly id: string; readonly isWanted: boolean }[],
    toldTicks: number,
  ): void;
}

interface ClaimsDeps {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** Whether its probe could begin with the next request and none is running. */
  readonly isUnused: (id: string) => boolean;
  readonly wanted: () => void;
}

interface Claim {
  readonly sinceTicks: number;
  readonly untilTicks: number;
}

/** The holder stops this much earlier than others may begin. */
const MARGIN_MS = 1000;
/** How long a claim is asked for after the last request that needed it. */
const WISH_MS = 3000;
/** How long a claim is held at least before others may have it. */
const OWN_TURN_MS = 1000;
/** All claims are sent each second. Beyond this number, those whose circuit no request needs are given up. */
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
        // Given up meanwhile: released in the next exchange.
        if (!known.has(id) && !wishes.has(id)) {
          released.add(id);
          continue;
        }
        wishes.delete(id);
        held.set(id, { sinceTicks, untilTicks: toldTicks + CLAIM_MS - MARGIN_MS });
        // At random, so that two gateways with few requests do not keep passing it back and forth.
        const isTheirTurn = isWanted && clock.ticks() - sinceTicks > OWN_TURN_MS && isUnused(id);
        if (isTheirTurn && random() < 0.5) drop(id);
      }
    },
  };
}
