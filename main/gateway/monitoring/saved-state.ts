import { PROVIDER_PREFIX, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { isObject } from '#shared/objects.ts';
import type { Config } from '../../config/schema.ts';
import { digestOf } from '../../platform/secrets.ts';
import type { Circuits } from '../circuits/circuits.ts';
import type { Predictions } from '../routing/ttft-predictions.ts';
import type { Latencies, Stats } from './counters.ts';

const VERSION = 1;

/** What outlives a restart. */
export interface SavedParts {
  readonly stats: Stats;
  readonly circuits: Circuits;
  readonly latencies: Latencies;
  readonly predictions: Predictions;
}

/** What is kept over a restart, as plain JSON: totals, circuits, skips, latencies, predictions. */
export function stateToSave(what: SavedParts, config: Config): unknown {
  const { inFlight: _, ...totals } = what.stats.view();
  return {
    version: VERSION,
    ...totals,
    identities: Object.fromEntries(UPSTREAM_IDS.map((id) => [id, identityOf(config, id)])),
    circuits: what.circuits.save(),
    latencies: what.latencies.save(),
    predictions: what.predictions.save(),
  };
}

/** Takes up what an earlier run kept; what is not understood, or of another upstream, is left out. */
export function restoreState(kept: unknown, what: SavedParts, config: Config): void {
  if (!isObject(kept) || kept['version'] !== VERSION) return;
  const { totalRequests, fallbackCount, hedges, handovers, identities } = kept;
  if (isCount(totalRequests) && isCount(fallbackCount)) {
    // The other two came later: a file may be older than they are.
    const later = { hedges: countOf(hedges), handovers: countOf(handovers) };
    what.stats.restore({ totalRequests, fallbackCount, ...later });
  }
  what.latencies.restore(kept['latencies']);
  if (!isObject(identities)) return;
  const same: ReadonlySet<string> = new Set(
    UPSTREAM_IDS.filter((id) => identities[id] === identityOf(config, id)),
  );
  // A provider's id comes from its key: whatever else changes, it is the same machine.
  const isSame = (id: string) => same.has(id) || id.startsWith(PROVIDER_PREFIX);
  what.circuits.restore(pick(kept['circuits'], isSame));
  what.predictions.restore(pick(kept['predictions'], isSame));
}

function pick(saved: unknown, isWanted: (id: string) => boolean): unknown {
  if (!isObject(saved)) return null;
  return Object.fromEntries(Object.entries(saved).filter(([id]) => isWanted(id)));
}

/**
 * Tells one upstream at an id from another: with a new address, key or model, what is known is known
 * of another one. A digest, because the key must not be kept here.
 */
export function identityOf(config: Config, id: UpstreamId): string {
  const { baseUrl, apiKey, model } = { apiKey: null, model: null, ...config[id] };
  return digestOf(JSON.stringify([baseUrl, apiKey, model])).toString('hex');
}

function countOf(value: unknown): number {
  return isCount(value) ? value : 0;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
