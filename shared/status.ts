import { z } from 'zod';
import { mapUpstreams, UPSTREAM_IDS } from './ids.ts';
import { localProviderSchema } from './provider.ts';

const timestamp = z.iso.datetime();
const count = z.int().nonnegative();
const milliseconds = z.number().nonnegative();
const upstreamId = z.enum(UPSTREAM_IDS);
/** A map with exactly one entry per upstream. */
const perUpstreamId = <T extends z.ZodType>(value: T) => z.strictObject(mapUpstreams(() => value));

/** Circuit record of a provider: an upstream's without the time-to-first-token fields. */
const providerCircuitSchema = z.strictObject({
  fails: count,
  successes: count,
  failUntil: timestamp.nullable(),
  lastError: z.string().nullable(),
  lastFailAt: timestamp.nullable(),
  lastSuccessAt: timestamp.nullable(),
  consecutiveFails: count,
  open: z.boolean(),
  cooldownRemainingMs: count,
});

/** Circuit record of an upstream. */
const circuitSchema = providerCircuitSchema.extend({
  ewmaTtft: milliseconds.nullable(),
  lastTtftMs: milliseconds.nullable(),
  consecutiveSlow: count,
});

const circuitsSchema = z.record(z.string(), z.union([circuitSchema, providerCircuitSchema]));

/** One upstream as reported; `skips` are its exclusions. */
const upstreamSchema = z.strictObject({
  id: upstreamId,
  label: z.string(),
  baseUrl: z.string().nullable(),
  chatPath: z.string(),
  model: z.string(),
  apiKeyEnv: z.string(),
  hasKey: z.boolean(),
  timeoutMs: z.int(),
  apiKeyPreview: z.string().nullable(),
  headers: z.record(z.string(), z.string()).optional(),
  circuit: circuitSchema,
  healthy: z.boolean(),
  skips: z.array(
    z.strictObject({ reason: z.string(), until: timestamp, model: z.string().optional() }),
  ),
  /** The budget with the largest share spent; left out if none is set. Amounts are in the configured currency. */
  budget: z
    .strictObject({
      period: z.enum(['day', 'month']),
      limit: z.number().nonnegative(),
      spent: z.number().nonnegative(),
      /** There is no price, so requests count as 0. */
      unpriced: z.literal(true).optional(),
    })
    .optional(),
});

/** Counters since the data directory was created, and the circuits behind them. */
const statsSchema = z.strictObject({
  totalRequests: count,
  fallbackCount: count,
  perUpstream: z.record(
    z.string(),
    z.strictObject({ requests: count, fails: count, successes: count }),
  ),
  circuits: circuitsSchema,
  providerCircuits: z.record(z.string(), providerCircuitSchema),
  providerLatencies: z.record(
    z.string(),
    z.strictObject({
      ewmaTtft: milliseconds.nullable(),
      ewmaLatency: milliseconds.nullable(),
      lastTtftMs: milliseconds.nullable(),
      samples: count,
    }),
  ),
  config: z.strictObject({
    failThreshold: count,
    cooldownMs: count,
    ttftThresholdMs: count,
    ttftSlowThreshold: count,
  }),
});

const LOCAL_HEALTH = ['ok', 'degraded', 'unavailable'] as const;
export type LocalHealth = (typeof LOCAL_HEALTH)[number];

export const WARMUP_STATES = ['idle', 'warming', 'ready', 'failed'] as const;

const warmupStateSchema = z.enum(WARMUP_STATES);

/** The database that several gateways share (docs/guides/pool.md). */
const poolSchema = z.strictObject({
  /** Why it does not answer, for people; null while it does. */
  problem: z.string().nullable(),
});

/** A model of one's own whose window was too small for a prompt, or that has a copy with a larger one. */
const windowSchema = z.strictObject({
  model: z.string(),
  /** Tokens of its window now. */
  tokens: z.int(),
  /** `copy`: one can be made. `setting`: what its owner can do. `made`: requests for it go to the copy. */
  remedy: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('copy'), tokens: z.int(), isMost: z.boolean() }),
    z.strictObject({ kind: z.literal('setting'), text: z.string() }),
    z.strictObject({ kind: z.literal('made'), copy: z.string() }),
  ]),
});

export type WindowReport = z.infer<typeof windowSchema>;

/** The status report (docs/reference/http-reports.md#status), strict: no field may be missing or added. */
export const statusReportSchema = z.strictObject({
  ok: z.boolean(),
  timestamp,
  forceZero: z.boolean(),
  zero: z.boolean(),
  gateway_forceZero_header: z.string(),
  local: z.strictObject({
    verified_count: count,
    pending_count: count,
    failed_count: count,
    provider: localProviderSchema.nullable(),
    health: z.enum(LOCAL_HEALTH),
    /** It is skipped because first tokens came late; null if it is not. */
    slow: z
      .strictObject({
        ttftMs: milliseconds,
        /** For `circuit.ttftThresholdMs`, to wait long enough for it. */
        enoughMs: z.int(),
      })
      .nullable(),
    windows: z.array(windowSchema),
  }),
  upstreams: z.array(upstreamSchema),
  circuits: circuitsSchema,
  stats: statsSchema,
  /** Chat requests in progress, and how many were refused because that limit was reached. */
  admission: z.strictObject({ running: count, limit: count, refused: count }),
  ondemand_warmup: warmupStateSchema,
  ondemand_warmup_detail: z.strictObject({
    state: warmupStateSchema,
    lastWarmupAt: timestamp.nullable(),
    lastResult: z.string().nullable(),
    durationMs: milliseconds.nullable(),
    /** The time of the cold start in progress; null if there is none. */
    elapsedMs: milliseconds.nullable(),
    /** How long cold starts usually take; null if none is in progress, or before the first has ended. */
    usualMs: milliseconds.nullable(),
  }),
  config: z.strictObject({
    order: z.array(upstreamId),
    description: z.string(),
    timeouts: perUpstreamId(z.int()),
    models: perUpstreamId(z.string().nullable()),
    env_hint: z.record(z.string(), z.string()),
  }),
  hint: z.string(),
  /** Left out if the gateway is not in a pool. */
  pool: poolSchema.optional(),
});

export type StatusReport = z.infer<typeof statusReportSchema>;
export type PoolReport = z.infer<typeof poolSchema>;
export type UpstreamReport = z.infer<typeof upstreamSchema>;
export type CircuitReport = z.infer<typeof circuitSchema>;
export type WarmupState = (typeof WARMUP_STATES)[number];
