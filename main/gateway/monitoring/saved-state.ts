import { z } from 'zod';
import { PROVIDER_PREFIX, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { isObject } from '../../platform/json.ts';
import type { Config } from '../../config/schema.ts';
import { digestOf } from '../../platform/secrets.ts';
import { healthSchema, meanSchema, NEW_BREAKER } from '../circuits/breaker.ts';
import {
  type Codec,
  type Codecs,
  deadlineSchema,
  decodeDeadline,
  encodeDeadline,
  type Memory,
  plain,
} from '../memory/memory.ts';
import { EXCLUSION_REASONS, type Values } from '../memory/topics.ts';
import type { WarmupRunner } from '../routing/warmup.ts';
import type { Counters } from './counters.ts';

const VERSION = 1;

const positive = z.int().positive();

/** The longest configurable cool-down (24 h) with its jitter. */
const LONGEST_COOLDOWN_MS = 86_400_000 * 1.1;

const savedSchema = z.strictObject({
  health: healthSchema,
  cooldown: z
    .strictObject({ until: deadlineSchema(LONGEST_COOLDOWN_MS), openings: positive })
    .nullable(),
});

/**
 * Serials are not saved, as no permit outlives this process. A running probe is lost, and its breaker is open. A cool-down
 * that a clock set forward has ended admits one probe only.
 */
export const circuitCodec: Codec<Values['circuit']> = {
  encode({ breaker: { health, state } }, now) {
    const cooldown =
      state.kind === 'closed'
        ? null
        : { until: encodeDeadline(state.until, now), openings: state.consecutiveOpens };
    return { health, cooldown } satisfies z.infer<typeof savedSchema>;
  },
  decode(saved, now) {
    const known = savedSchema.safeParse(saved).data;
    if (known === undefined) return null;
    const { health, cooldown } = known;
    if (cooldown === null) return { breaker: { ...NEW_BREAKER, health }, epoch: 0 };
    const { until, openings: consecutiveOpens } = cooldown;
    const state = { kind: 'open', until: decodeDeadline(until, now), consecutiveOpens } as const;
    return { breaker: { ...NEW_BREAKER, health, state }, epoch: 0 };
  },
};

/** What outlives a restart of what is known of upstreams and machines. */
export const SAVED_TOPICS: Codecs = {
  circuit: circuitCodec,
  left_alone: plain(
    z.strictObject({ reason: z.enum(EXCLUSION_REASONS), model: z.string().nullable() }),
  ),
  latency: plain(z.strictObject({ mean: meanSchema, samples: positive })),
  longest: plain(z.strictObject({ tokens: positive })),
};

export interface SavedParts {
  readonly counters: Pick<Counters, 'save' | 'restore'>;
  readonly memory: Memory;
  readonly warmup: Pick<WarmupRunner, 'save' | 'restore'>;
}

export function stateToSave(parts: SavedParts, config: Config): unknown {
  return {
    version: VERSION,
    counters: parts.counters.save(),
    identities: Object.fromEntries(UPSTREAM_IDS.map((id) => [id, identityOf(config, id)])),
    memory: parts.memory.save(SAVED_TOPICS),
    coldStartsMs: parts.warmup.save(),
  };
}

/** Ignores invalid state, and the state of upstreams that have been reconfigured since. */
export function restoreState(saved: unknown, parts: SavedParts, config: Config): void {
  if (!isObject(saved) || saved['version'] !== VERSION) return;
  const { identities } = saved;
  parts.counters.restore(saved['counters']);
  if (!isObject(identities)) return;
  const same: ReadonlySet<string> = new Set(
    UPSTREAM_IDS.filter((id) => identities[id] === identityOf(config, id)),
  );
  // A provider's id is derived from its key, so it is always the same machine.
  const isSame = (id: string) => same.has(id) || id.startsWith(PROVIDER_PREFIX);
  parts.memory.restore(pick(saved['memory'], isSame), SAVED_TOPICS);
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
  return digestOf(JSON.stringify([baseUrl, apiKey, model]));
}
