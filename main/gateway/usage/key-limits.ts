import { KEY_LIMIT_NAMES, KEY_LIMITS, type KeyLimitName } from '#shared/keys.ts';
import { WARNED_SHARE } from '#shared/usage.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { UsageBefore } from './messages.ts';
import { createPeriodSums, type Period } from './period-sums.ts';

/** A limit of a key and what was used of it. */
export interface KeyLimitAt {
  readonly key: string;
  readonly name: KeyLimitName;
  readonly of: 'requests' | 'tokens';
  readonly period: Period;
  readonly limit: number;
  readonly used: number;
  /** When it resets, in wall-clock milliseconds. */
  readonly until: number;
}

/** What the keys of apps have used in the running day and month, and what they may use. Counts go by the key's name. */
export interface KeyLimits {
  /** A request with the key begins. */
  requested(key: string | null): void;
  /** Adds the tokens of a call for the key. */
  used(key: string | null, tokens: number): void;
  /** The key's limits. */
  of(key: string): readonly KeyLimitAt[];
  /** The limit that refuses the key now, and of several the one that does so longest; null: it may call. */
  reached(key: string | null): KeyLimitAt | null;
}

export function createKeyLimits(
  { keyRequests, keyTokens }: UsageBefore,
  {
    clock,
    limitsOf,
    log,
  }: {
    readonly clock: Clock;
    /** Null for a key without a limit. */
    readonly limitsOf: (key: string) => Readonly<Partial<Record<KeyLimitName, number>>> | null;
    readonly log: Log;
  },
): KeyLimits {
  // Kept for keys without a limit too: a limit that is set later counts from the beginning of its period.
  const sums = {
    requests: createPeriodSums(clock, keyRequests),
    tokens: createPeriodSums(clock, keyTokens),
  };

  function at(key: string): readonly KeyLimitAt[] {
    const limits = limitsOf(key);
    if (limits === null) return NONE;
    return KEY_LIMIT_NAMES.flatMap((name) => {
      const limit = limits[name];
      if (limit === undefined) return [];
      const { of, period } = KEY_LIMITS[name];
      const used = sums[of].of(key, period);
      return [{ key, name, of, period, limit, used, until: sums[of].endsAt(period) }];
    });
  }

  function count(of: KeyLimitAt['of'], key: string | null, amount: number): void {
    if (key === null || amount === 0) return;
    sums[of].add(key, amount);
    for (const each of at(key)) if (each.of === of) warn(each, amount);
  }

  function warn({ key, of, period, limit, used }: KeyLimitAt, amount: number): void {
    const passes = (mark: number) => used >= mark && used - amount < mark;
    if (passes(limit)) log('warn', 'key_limit_reached', { name: key, of, period, limit });
    else if (passes(WARNED_SHARE * limit))
      log('warn', 'key_limit_nearly_reached', { name: key, of, period, limit });
  }

  return {
    requested: (key) => count('requests', key, 1),
    used: (key, tokens) => count('tokens', key, tokens),
    of: at,
    reached(key) {
      if (key === null) return null;
      const over = at(key).filter(({ used, limit }) => used >= limit);
      return over.toSorted((a, b) => a.until - b.until).at(-1) ?? null;
    },
  };
}

const NONE: readonly KeyLimitAt[] = [];
