/** A time-decayed mean: a sample's weight halves every minute, however many follow it. */
export interface DecayingMean {
  readonly value: number;
  readonly weight: number;
  readonly at: number;
}

const HALF_LIFE_MS = 60_000;

/** The mean with one more sample, taken at `now` (clock ticks). */
export function withSample(mean: DecayingMean | null, sample: number, now: number): DecayingMean {
  if (mean === null) return { value: sample, weight: 1, at: now };
  const kept = mean.weight * 0.5 ** (Math.max(0, now - mean.at) / HALF_LIFE_MS);
  const weight = kept + 1;
  return { value: (mean.value * kept + sample) / weight, weight, at: now };
}

/** Counts and times of an upstream's attempts; timestamps are milliseconds since the epoch. */
export interface HealthRecord {
  /** Attempts sent. */
  readonly requests: number;
  readonly fails: number;
  readonly successes: number;
  readonly consecutiveFails: number;
  readonly consecutiveSlow: number;
  readonly lastError: string | null;
  readonly lastFailAt: number | null;
  readonly lastSuccessAt: number | null;
  readonly lastTtftMs: number | null;
  readonly ttft: DecayingMean | null;
}

export const UNUSED: HealthRecord = {
  requests: 0,
  fails: 0,
  successes: 0,
  consecutiveFails: 0,
  consecutiveSlow: 0,
  lastError: null,
  lastFailAt: null,
  lastSuccessAt: null,
  lastTtftMs: null,
  ttft: null,
};

/** `isSlow`: it failed after a long silence, which counts as slow too. */
export function failedAt(
  record: HealthRecord,
  wallMs: number,
  { error, isSlow }: { readonly error: string; readonly isSlow: boolean },
): HealthRecord {
  return {
    ...record,
    fails: record.fails + 1,
    consecutiveFails: record.consecutiveFails + 1,
    consecutiveSlow: record.consecutiveSlow + (isSlow ? 1 : 0),
    lastError: error,
    lastFailAt: wallMs,
  };
}

/** To be called when the answer is complete. */
export function succeededAt(record: HealthRecord, wallMs: number): HealthRecord {
  return {
    ...record,
    successes: record.successes + 1,
    consecutiveFails: 0,
    lastSuccessAt: wallMs,
  };
}

/** `now` in clock ticks. */
export function firstContentAt(
  record: HealthRecord,
  ttftMs: number,
  now: number,
  slowAfterMs: number,
): HealthRecord {
  return {
    ...record,
    lastTtftMs: Math.round(ttftMs),
    ttft: withSample(record.ttft, ttftMs, now),
    consecutiveSlow: ttftMs > slowAfterMs ? record.consecutiveSlow + 1 : 0,
  };
}

/**
 * For a call that was aborted after `silentMs` without content. Its time to first token would have been at
 * least that, so the mean may only rise; `lastTtftMs` stays the last one measured.
 */
export function silentFor(
  record: HealthRecord,
  silentMs: number,
  now: number,
  slowAfterMs: number,
): HealthRecord {
  const isLonger = silentMs > (record.ttft?.value ?? 0);
  return {
    ...record,
    ttft: isLonger ? withSample(record.ttft, silentMs, now) : record.ttft,
    consecutiveSlow: record.consecutiveSlow + (silentMs >= slowAfterMs ? 1 : 0),
  };
}
