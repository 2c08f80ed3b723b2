import { z } from 'zod';

const timestamp = z.iso.datetime();

/** One verification check of a provider (interface 2.3). */
const checkSchema = z.strictObject({
  name: z.string(),
  passed: z.boolean(),
  latencyMs: z.int().optional(),
  error: z.string().optional(),
  detail: z.string().optional(),
});

/** Result of a provider's verification (interface 2.3). */
const verificationSchema = z.strictObject({
  status: z.enum(['verified', 'pending', 'verifying', 'failed']),
  checks: z.array(checkSchema),
  last_check: timestamp,
  last_heartbeat: timestamp,
  heartbeat_count: z.int(),
  failure_reason: z.string(),
});

/** Health of a provider's engine; `code` is its HTTP status, 0 when there was no answer. */
const engineHealthSchema = z.strictObject({ status: z.string(), code: z.int() });

/** The excerpt of a provider record inside the status report (interface 2.4, `local.provider`). */
export const localProviderSchema = z.strictObject({
  id: z.string(),
  verification: verificationSchema,
  tailnet_ip: z.string().nullable(),
  agent_url: z.string(),
  last_heartbeat: timestamp,
  engine_model: z.string(),
  engine_health: engineHealthSchema,
});
