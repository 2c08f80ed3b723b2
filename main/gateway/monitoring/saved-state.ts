import { PROVIDER_PREFIX, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { isObject } from '../../platform/json.ts';
import type { Config } from '../../config/schema.ts';
import { digestOf } from '../../platform/secrets.ts';
import type { Circuits } from '../circuits/circuits.ts';
import type { WarmupRunner } from '../routing/warmup.ts';
import type { Latencies, Stats, Outcomes } from './counters.ts';

const VERSION = 1;

export interface SavedParts {
  readonly stats: Stats;
  readonly outcomes: Pick<Outcomes, 'save' | 'restore'>;
  readonly circuits: Circuits;
  readonly latencies: Latencies;
  readonly warmup: Pick<WarmupRunner, 'save' | 'restore'>;
}

export function stateToSave(parts: SavedParts, config: Config): unknown {
  const { inFlight: _, ...totals } = parts.stats.view();
  return {
    version: VERSION,
    ...totals,
    outcomes: parts.outcomes.save(),
    identities: Object.fromEntries(UPSTREAM_IDS.map((id) => [id, identityOf(config, id)])),
    circuits: parts.circuits.save(),
    latencies: parts.latencies.save(),
    coldStartsMs: parts.warmup.save(),
  };
}

/** Ignores invalid state, and the state of upstreams that have been reconfigured since. */
export function restoreState(saved: unknown, parts: SavedParts, config: Config): void {
  if (!isObject(saved) || saved['version'] !== VERSION) return;
  const { identities } = saved;
  parts.stats.restore(saved);
  parts.outcomes.restore(saved['outcomes']);
  parts.latencies.restore(saved['latencies']);
  if (!isObject(identities)) return;
  const same: ReadonlySet<string> = new Set(
    UPSTREAM_IDS.filter((id) => identities[id] === identityOf(config, id)),
  );
  // A provider's id is derived from its key, so it is always the same machine.
  const isSame = (id: string) => same.has(id) || id.startsWith(PROVIDER_PREFIX);
  parts.circuits.restore(pick(saved['circuits'], isSame));
  if (isSame('ondemand')) parts.warmup.restore(saved['coldStartsMs']);
}

function pick(saved: unknown, isIncluded: (id: string) => boolean): unknown {
  if (!isObject(saved)) return null;
  return Object.fromEntries(Object.entries(saved).filter(([id]) => isIncluded(id)));
}

/**
 * Identifies an upstream: with a new address, key or model, saved state no longer applies. It is a digest, because the
 * key must not be stored.
 */
export function identityOf(config: Config, id: UpstreamId): string {
  const { baseUrl, apiKey, model } = { apiKey: null, model: null, ...config[id] };
  return digestOf(JSON.stringify([baseUrl, apiKey, model])).toString('hex');
}
