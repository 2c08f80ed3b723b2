import type { LocalTarget } from '../upstream/upstreams.ts';
import type { FirstToken, Prediction } from './predictions.ts';

/** A machine of the local pool, with what it is compared by. */
export interface PoolMember {
  readonly target: LocalTarget;
  /** For the bytes that it has yet to read; null below the samples that it needs. */
  readonly prediction: Prediction | null;
  /** What it took of late, on average; null before its first sample. */
  readonly mean: FirstToken | null;
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
  const rates = members.flatMap(({ prediction, newBytes }) =>
    prediction === null || prediction.prefillMs === 0 ? [] : [prediction.prefillMs / newBytes],
  );
  const msPerByte = average(rates) ?? DEFAULT_MS_PER_BYTE;
  const means = members.flatMap(({ mean }) => mean ?? []);
  const poolMean = {
    promptBytes: average(means.map(({ promptBytes }) => promptBytes)) ?? 0,
    ttftMs: average(means.map(({ ttftMs }) => ttftMs)),
  };

  function expectedMs({ prediction, mean, ewmaTtft, newBytes }: PoolMember): number {
    if (prediction !== null && prediction.prefillMs > 0) return prediction.ttftMs;
    // It has never answered, only been silent.
    if (mean === null && ewmaTtft !== null) return ewmaTtft + msPerByte * newBytes;
    const { promptBytes, ttftMs } = mean ?? poolMean;
    if (ttftMs === null) return msPerByte * newBytes;
    // Reading those prompts took no more than all of the time: what it took is not to be counted twice.
    const slope = Math.min(msPerByte, ttftMs / Math.max(promptBytes, 1));
    return ttftMs + slope * (newBytes - promptBytes);
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

function average(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
