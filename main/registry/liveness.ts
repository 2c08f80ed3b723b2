import type { AgentRecord, ProviderStatus } from '#shared/provider.ts';

/** Silence after which a machine gets no new traffic (design 8). */
export const STALE_MS = 45_000;
const OFFLINE_MS = 90_000;
/** Silence after which it is no longer in the default list. */
const HIDDEN_MS = 24 * 3_600_000;
/** Silence after which it is forgotten. */
const FORGOTTEN_MS = 30 * 24 * 3_600_000;

/** What a machine is, by what it last said and how long ago it said it. */
export function statusAt(said: AgentRecord['status'], silentMs: number): ProviderStatus {
  // A goodbye needs no waiting: it is off, not merely late.
  if (said === 'offline' || silentMs >= OFFLINE_MS) return 'offline';
  return silentMs >= STALE_MS ? 'stale' : said;
}

/** Whether a machine that was silent for so long is left out of the default list. */
export function isHidden(silentMs: number): boolean {
  return silentMs >= HIDDEN_MS;
}

/** Whether a machine that was silent for so long is forgotten. */
export function isForgotten(silentMs: number): boolean {
  return silentMs >= FORGOTTEN_MS;
}

/**
 * The silence that counts after the registry itself was away: a machine that was heard before that
 * has a whole window to be heard again, any other has gained and lost nothing.
 */
export function silenceAfterAbsence(silentMs: number): number {
  return silentMs < STALE_MS ? 0 : silentMs;
}

/** The silence of a machine at the start of the registry; wall-clock times, which may have been set back. */
export function silenceAtStart(lastHeartbeatAt: number, lastAliveAt: number): number {
  return silenceAfterAbsence(Math.max(0, lastAliveAt - lastHeartbeatAt));
}
