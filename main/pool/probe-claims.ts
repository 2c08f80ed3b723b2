import { CLAIM_MS } from './protocol.ts';
import type { Clock } from '../platform/clock.ts';

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
const REQUESTED_MS = 3000;
/** How long a claim is held at least before others may have it. */
const OWN_TURN_MS = 1000;
/** All claims are sent each second. Beyond this number, those whose circuit no request needs are given up. */
const MAX_CLAIMS = 64;

/** The circuits whose probe this gateway may send; for each circuit one gateway of a pool may at a time. */
export function createProbeClaims({ clock, random, isUnused, wanted }: ClaimsDeps) {
  const held = new Map<string, Claim>();
  /** By id: when a request last wanted it. */
  const requested = new Map<string, number>();
  const released = new Set<string>();

  function want(id: string): void {
    if (held.has(id)) return;
    if (!requested.has(id)) wanted();
    requested.set(id, clock.ticks());
  }

  function drop(id: string): void {
    requested.delete(id);
    if (held.delete(id)) released.add(id);
  }

  function makeRoom(): void {
    for (const id of held.keys()) {
      if (held.size + requested.size <= MAX_CLAIMS) return;
      if (isUnused(id)) drop(id);
    }
  }

  return {
    /** Whether this gateway may probe; if not, asks for the claim. */
    has(id: string): boolean {
      if ((held.get(id)?.untilTicks ?? -Infinity) > clock.ticks()) return true;
      want(id);
      return false;
    },
    /** Asks for the claim in the next exchange. */
    want,
    /** Gives the claim up. */
    drop,
    /** Ids to send to the others. */
    outgoing(): { readonly claims: readonly string[]; readonly released: readonly string[] } {
      for (const [id, ticks] of requested)
        if (clock.ticks() - ticks > REQUESTED_MS) requested.delete(id);
      makeRoom();
      const claims = [...held.keys(), ...requested.keys()].slice(0, MAX_CLAIMS);
      const outgoing = { claims, released: [...released].filter((id) => !claims.includes(id)) };
      released.clear();
      return outgoing;
    },
    /** Takes the answer to what was sent at `sentTicks`. */
    received(
      claims: readonly { readonly id: string; readonly isWanted: boolean }[],
      sentTicks: number,
    ): void {
      const known: ReadonlyMap<string, Claim> = new Map(held);
      held.clear();
      for (const { id, isWanted } of claims) {
        const sinceTicks = known.get(id)?.sinceTicks ?? clock.ticks();
        // Given up meanwhile: released in the next exchange.
        if (!known.has(id) && !requested.has(id)) {
          released.add(id);
          continue;
        }
        requested.delete(id);
        held.set(id, { sinceTicks, untilTicks: sentTicks + CLAIM_MS - MARGIN_MS });
        // At random, so that two gateways with few requests do not keep passing it back and forth.
        const isTheirTurn = isWanted && clock.ticks() - sinceTicks > OWN_TURN_MS && isUnused(id);
        if (isTheirTurn && random() < 0.5) drop(id);
      }
    },
  };
}
