import { z } from 'zod';
import { modelFactsSchema } from './models.ts';

export * from './checks.ts';

const timestamp = z.iso.datetime();
const count = z.int().nonnegative();
/** Free text from another machine; no real value is longer. */
const text = z.string().max(1024);
/** Unknown is null, never zero and never an empty string. */
const known = <T extends z.ZodType>(value: T) => value.nullable();

export const VERIFICATION_STATES = ['verified', 'pending', 'verifying', 'failed'] as const;
export type VerificationState = (typeof VERIFICATION_STATES)[number];

/** `offline` is sent at shutdown. */
const AGENT_STATUSES = ['serving', 'idle', 'paused', 'draining', 'degraded', 'offline'] as const;

/** A machine's status in the registry: `stale`, and `offline` of a silent machine, are set by the registry. */
export const PROVIDER_STATUSES = [...AGENT_STATUSES, 'stale'] as const;
export type ProviderStatus = (typeof PROVIDER_STATUSES)[number];

/** One verification check of a provider. */
const checkSchema = z.strictObject({
  name: z.string(),
  passed: z.boolean(),
  latencyMs: z.int().optional(),
  error: z.string().optional(),
  detail: z.string().optional(),
});

/** Result of a provider's verification; `last_check` is null before the first run. */
const verificationSchema = z.strictObject({
  status: z.enum(VERIFICATION_STATES),
  /** Requests may go to it: it is verified, or was at this address and is checked again after a change. */
  routable: z.boolean(),
  checks: z.array(checkSchema),
  last_check: timestamp.nullable(),
  last_heartbeat: timestamp,
  heartbeat_count: count,
  failure_reason: z.string(),
});

/** Health of a provider's engine; `code` is its HTTP status, 0 if there was no answer. */
const engineHealthSchema = z.object({ status: text, code: z.int().min(0).max(999) });

const megabytes = count;
const percent = z.int().min(0).max(100);

const gpuSchema = z.object({
  count,
  devices: z.array(
    z.object({
      index: count,
      name: text,
      memory_total_mb: known(megabytes),
      memory_used_mb: known(megabytes),
      memory_free_mb: known(megabytes),
      util_gpu: known(percent),
      util_memory: known(percent),
      temperature_c: known(z.number()),
    }),
  ),
  total_memory_gb: known(z.number().nonnegative()),
  gpu_cores: known(count),
});

/** The energy of the GPUs since the agent's start, without what they take when idle. */
const energySchema = z.object({
  idle_w: known(z.number().nonnegative()),
  models: z
    .array(z.object({ model: text, joules: z.number().nonnegative(), tokens: count }))
    .max(128),
});

/** What an agent reports (docs/contributing/agent-protocol.md#heartbeat). Other fields are dropped. */
export const agentRecordSchema = z.object({
  chip: known(text),
  chip_family: known(text),
  chip_tier: known(text),
  cpu_cores: z.object({ total: count, performance: count, efficiency: count }),
  gpu_cores: known(count),
  memory_gb: known(z.number().nonnegative()),
  memory_bandwidth_gbs: known(z.number().nonnegative()),
  current_model: known(text),
  models: z.array(text),
  /** What is known of them, in the order in which a name that it does not have goes to them; older agents send none. */
  model_facts: z.array(modelFactsSchema).optional(),
  status: z.enum(AGENT_STATUSES),
  requests_served: count,
  tokens_generated: count,
  machine_model: known(text),
  decode_tps: known(z.number().nonnegative()),
  gpu: gpuSchema,
  host: z.object({
    hostname: text,
    platform: text,
    cpu_total: count,
    memory_gb: z.number().nonnegative(),
    tailnet_hostname: known(text),
  }),
  engine_health: engineHealthSchema,
  engine_model: known(text),
  region: known(text),
  agent_version: text,
  /** Empty if there is none. */
  tailnet_ip: text,
  agent_url: text,
  uptime_s: count,
  /** What answers have taken in electricity; absent while nothing was measured. */
  energy: energySchema.optional(),
});

/** A provider as the registry lists it (docs/reference/http-reports.md#machines). */
export const providerSchema = z.strictObject({
  ...agentRecordSchema.omit({ uptime_s: true }).shape,
  id: z.string(),
  status: z.enum(PROVIDER_STATUSES),
  trust_level: z.enum(['none', 'software']),
  attested: z.boolean(),
  verification: verificationSchema,
  last_heartbeat: timestamp,
  last_heartbeat_ip: z.string(),
  tailnet_ip: z.string().nullable(),
  heartbeat_count: count,
  /** As last reported; the agent signs it under its id. */
  raw: agentRecordSchema.extend({ id: z.string() }).strict(),
  ewmaTtft: z.number().nullable(),
  ewmaLatency: z.number().nullable(),
  concurrentRequests: count,
  totalRequests: count,
  successCount: count,
});

/** A gateway's own figures on a provider (docs/reference/http-reports.md#machines); times in milliseconds. */
export type ProviderTraffic = Pick<
  Provider,
  'ewmaTtft' | 'ewmaLatency' | 'concurrentRequests' | 'totalRequests' | 'successCount'
>;

/** What the verifications of a machine have shown; times in milliseconds since the epoch. */
export interface VerificationProof {
  readonly checkedAt: number;
  /** The last run failed. */
  readonly hasFailed: boolean;
  /** When a run's completion was last answered; null if none was. */
  readonly completedAt: number | null;
}

/** The provider list; the counts cover everything that the filter matches, not the page. */
export const providerListSchema = z.strictObject({
  object: z.literal('list'),
  data: z.array(providerSchema),
  count,
  verified: count,
  pending: count,
  verifying: count,
  failed: count,
});

/** The excerpt of a provider record in the status report (`local.provider`). */
export const localProviderSchema = providerSchema.pick({
  id: true,
  verification: true,
  tailnet_ip: true,
  agent_url: true,
  last_heartbeat: true,
  engine_model: true,
  engine_health: true,
});

/** One line of a provider's history, newest first in `GET /api/v1/providers/:id/history`. */
export const providerEventSchema = z.strictObject({
  at: timestamp,
  kind: z.enum(['enrolled', 'status', 'verification']),
  /** For people: `serving`, `failed: latency <10s: no answer in time`. */
  text: z.string(),
});

export type ProviderEnergy = z.infer<typeof energySchema>;
export type AgentRecord = z.infer<typeof agentRecordSchema>;
export type Provider = z.infer<typeof providerSchema>;
export type ProviderList = z.infer<typeof providerListSchema>;
export type Check = z.infer<typeof checkSchema>;
export type Verification = z.infer<typeof verificationSchema>;
export type LocalProvider = z.infer<typeof localProviderSchema>;
export type ProviderEvent = z.infer<typeof providerEventSchema>;
