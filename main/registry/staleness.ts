import type { AgentRecord, ProviderStatus } from '#shared/provider.ts';

/** Silence after which a machine gets no new traffic. */
export const STALE_MS = 45_000;
const OFFLINE_MS = 90_000;
/** Silence after which a machine leaves the default list. */
export const HIDDEN_MS = 24 * 3_600_000;
/** Silence after which a machine is removed. */
export const FORGOTTEN_MS = 30 * 24 * 3_600_000;

/** The status of a machine, from its last report and the milliseconds since. */
export function statusAt(said: AgentRecord['status'], silentMs: number): ProviderStatus {
  // After a goodbye a machine is offline at once.
  if (said === 'offline' || silentMs >= OFFLINE_MS) return 'offline';
  return silentMs >= STALE_MS ? 'stale' : said;
}

/**
 * The silence that counts after the registry itself was down: a machine that was present before gets the full time to
 * report again; for others nothing changes.
 */
export function silenceAfterAbsence(silentMs: number): number {
  return silentMs < STALE_MS ? 0 : silentMs;
}

/**
 * The silence of a machine at the start of the registry. These are wall-clock times, and the clock may have been set
 * back.
 */
export function silenceAtStart(lastHeartbeatAt: number, lastAliveAt: number): number {
  return silenceAfterAbsence(Math.max(0, lastAliveAt - lastHeartbeatAt));
}
