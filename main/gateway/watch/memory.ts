import { PROVIDER_PREFIX, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config.ts';
import { digestOf } from '../../platform/secret-text.ts';
import { isObject } from '#shared/objects.ts';
import type { Circuits } from '../circuit/circuits.ts';
import type { Latencies } from './latencies.ts';
import type { Stats } from './stats.ts';

const VERSION = 1;

/** What outlives a restart. */
export interface Memorable {
  readonly stats: Stats;
  readonly circuits: Circuits;
  readonly latencies: Latencies;
}

/** What is kept over a restart, as plain JSON: totals, circuits, skips, latencies. */
export function remembered({ stats, circuits, latencies }: Memorable, config: Config): unknown {
  const { totalRequests, fallbackCount } = stats.view();
  return {
    version: VERSION,
    totalRequests,
    fallbackCount,
    identities: Object.fromEntries(UPSTREAM_IDS.map((id) => [id, identityOf(config, id)])),
    circuits: circuits.save(),
    latencies: latencies.save(),
  };
}

/** Takes up what an earlier run kept; what is not understood, or of another upstream, is left out. */
export function recall(kept: unknown, what: Memorable, config: Config): void {
  if (!isObject(kept) || kept['version'] !== VERSION) return;
  const { totalRequests, fallbackCount, identities, circuits: saved } = kept;
  if (isCount(totalRequests) && isCount(fallbackCount)) {
    what.stats.restore({ totalRequests, fallbackCount });
  }
  what.latencies.restore(kept['latencies']);
  if (!isObject(identities) || !isObject(saved)) return;
  const same = UPSTREAM_IDS.filter((id) => identities[id] === identityOf(config, id));
  // A provider's id comes from its key: whatever else changes, it is the same machine.
  const providers = Object.keys(saved).filter((id) => id.startsWith(PROVIDER_PREFIX));
  what.circuits.restore(Object.fromEntries([...same, ...providers].map((id) => [id, saved[id]])));
}

/**
 * Tells one upstream at an id from another: with a new address, key or model, what is known is known
 * of another one. A digest, because the key must not be kept here.
 */
export function identityOf(config: Config, id: UpstreamId): string {
  const { baseUrl, apiKey, model } = { apiKey: null, model: null, ...config[id] };
  return digestOf(JSON.stringify([baseUrl, apiKey, model])).toString('hex');
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
