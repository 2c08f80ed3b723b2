import type { LocalTarget } from '../upstream/upstreams.ts';
import type { MeanFirstToken, Prediction } from './predictions.ts';

/** A machine of the local pool, with what it is compared by. */
export interface PoolMember {
  readonly target: LocalTarget;
  /** For the bytes that it has yet to read; null below the samples that it needs. */
  readonly prediction: Prediction | null;
  /** Null before its first sample. */
  readonly mean: MeanFirstToken | null;
  /** Time-decayed mean of its times to first token and of its silences, in milliseconds; null while unknown. */
  readonly ewmaTtft: number | null;
  /** What it has yet to read of the prompt: the bytes behind the prefix in its cache. */
  readonly newBytes: number;
  /** Running requests. */
  readonly inFlight: number;
  /** It has the conversation in its cache, not just a system prompt that many begin with. */
  readonly isHome: boolean;
  /** Conversations in its cache. */
  readonly conversations: number;
}

/** 1,000 tokens a second, at four bytes a token: a small GPU. */
const DEFAULT_MS_PER_BYTE = 0.25;
/** What is no reading in the times of a pool whose rate is unknown, in milliseconds, and at most half of them. */
const DEFAULT_OVERHEAD_MS = 100;
/** With as many samples a machine's own speed counts for half, until it has enough for a prediction. */
const HALF_KNOWN_SAMPLES = 10;
/** Lower values are noise, and a cost of 0 would stay 0 under any load. */
const SHORTEST_TTFT_MS = 1;
/** Predictions are no better than this: what is nearer to the best is as good. */
const NEAR = 1.1;

/**
 * Machines in the order of preference: the lowest expected time to first token times load first, so that a warm cache, load
 * and speed are one number. Among those that are about as good the conversation's own comes first, then the one with the
 * fewest conversations, as caches are small.
 */
export function cheapestFirst(members: readonly PoolMember[]): LocalTarget[] {
  const usual = usualMachine(members);

  function expectedMs({ prediction, mean, ewmaTtft, newBytes }: PoolMember): number {
    if (prediction !== null && prediction.prefillMs > 0) return prediction.ttftMs;
    if (mean !== null) {
      const chance = prediction === null ? HALF_KNOWN_SAMPLES : 0;
      return slownessOf(mean, usual, chance) * usual.expectedMs(newBytes);
    }
    // Without an answer, what it has taken was silence.
    return (ewmaTtft ?? 0) + usual.expectedMs(newBytes);
  }

  const costed = members.map((member) => ({
    ...member,
    cost: Math.max(expectedMs(member), SHORTEST_TTFT_MS) * (member.inFlight + 1),
  }));
  const best = Math.min(...costed.map(({ cost }) => cost));
  const isNear = ({ cost }: { readonly cost: number }) => cost <= NEAR * best;
  return costed
    .toSorted((a, b) =>
      isNear(a) && isNear(b)
        ? Number(b.isHome) - Number(a.isHome) ||
          a.conversations - b.conversations ||
          a.cost - b.cost
        : a.cost - b.cost,
    )
    .map(({ target }) => target);
}

/** Time to first token by the bytes to read. */
type Line = (newBytes: number) => number;

const lineOf =
  (overheadMs: number, msPerByte: number): Line =>
  (newBytes) =>
    overheadMs + msPerByte * newBytes;

/** A machine of the pool's usual speed. */
interface UsualMachine {
  /** For prompts such as were sampled. */
  readonly meanMs: Line;
  readonly expectedMs: Line;
}

/** As those whose rate is known, else through the mean of all samples. */
function usualMachine(members: readonly PoolMember[]): UsualMachine {
  const known = members.flatMap(({ prediction, newBytes }) =>
    prediction === null || prediction.prefillMs === 0 ? [] : [{ ...prediction, newBytes }],
  );
  if (known.length > 0) {
    const line = lineOf(
      sum(known.map(({ ttftMs, prefillMs }) => ttftMs - prefillMs)) / known.length,
      sum(known.map(({ prefillMs, newBytes }) => prefillMs / newBytes)) / known.length,
    );
    return { meanMs: line, expectedMs: line };
  }
  const means = members.flatMap(({ mean }) => mean ?? []);
  const samples = Math.max(1, sum(means.map((each) => each.samples)));
  const ttftMs = sum(means.map((each) => each.ttftMs * each.samples)) / samples;
  const promptBytes = sum(means.map((each) => each.promptBytes * each.samples)) / samples;
  const overheadMs = Math.min(DEFAULT_OVERHEAD_MS, ttftMs / 2);
  const meanMs = lineOf(overheadMs, (ttftMs - overheadMs) / Math.max(1, promptBytes));
  return {
    meanMs,
    // Short prompts, or ones that were in a cache, tell nothing of long ones.
    expectedMs: (newBytes) => Math.max(meanMs(newBytes), DEFAULT_MS_PER_BYTE * newBytes),
  };
}

/** How many times as long as the usual machine one takes, beside `chance` samples of a usual one. */
function slownessOf(mean: MeanFirstToken, { meanMs }: UsualMachine, chance: number): number {
  const usualMs = meanMs(mean.promptBytes);
  const own = Math.max(SHORTEST_TTFT_MS, mean.ttftMs) / Math.max(SHORTEST_TTFT_MS, usualMs);
  return (own * mean.samples + chance) / (mean.samples + chance);
}

const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);
