import { z } from 'zod';
import { agentRecordSchema, providerEventSchema, providerSchema } from '#shared/provider.ts';
import { parseJson } from '../../platform/json.ts';
import { type StoredEvent, type StoredProvider, UNVERIFIED } from './store.ts';

/* The schemas of table rows read back: a file is untrusted input. */

/** Range of a Date (ECMA-262, 21.4.1.1). */
const wallMs = z.int().min(0).max(8.64e15);
const count = z.int().nonnegative();

const verificationSchema = z.object({
  state: z.enum(['verified', 'pending', 'failed']),
  checks: providerSchema.shape.verification.shape.checks,
  lastCheckAt: wallMs.nullable(),
  lastInferenceAt: wallMs.nullable(),
  failedRuns: count,
  address: z.string().nullable(),
  ownedBy: z.string().exactOptional(),
});

const providerRowSchema = z.object({
  id: z.string().min(1),
  public_key: z.string().min(1),
  token_salt: z.string().min(1),
  enrolled_at: wallMs,
  sequence: count,
  last_heartbeat_at: wallMs.nullable(),
  last_heartbeat_ip: z.string(),
  heartbeat_count: count,
  record: z.string().nullable(),
  verification: z.string(),
});

export const PROVIDER_COLUMNS = Object.keys(providerRowSchema.shape);

const eventRowSchema = z.object({
  provider_id: z.string(),
  at: wallMs,
  kind: providerEventSchema.shape.kind,
  text: z.string(),
});

/** The events in rows of `events`, without those that cannot be read. */
export function eventsIn(rows: readonly unknown[]): readonly StoredEvent[] {
  return rows.flatMap((row) => {
    const { data } = eventRowSchema.safeParse(row);
    if (data === undefined) return [];
    const { provider_id: providerId, ...event } = data;
    return [{ providerId, ...event }];
  });
}

/** The row of a provider; its keys are the column names. */
export function providerRow(provider: StoredProvider): z.infer<typeof providerRowSchema> {
  return {
    id: provider.id,
    public_key: provider.publicKey,
    token_salt: provider.tokenSalt,
    enrolled_at: provider.enrolledAt,
    sequence: provider.sequence,
    last_heartbeat_at: provider.lastHeartbeatAt,
    last_heartbeat_ip: provider.lastHeartbeatIp,
    heartbeat_count: provider.heartbeatCount,
    record: provider.record === null ? null : JSON.stringify(provider.record),
    verification: JSON.stringify(provider.verification),
  };
}

/**
 * Null if the row cannot be read. A record or verification that cannot be read is treated as missing: the next heartbeat
 * and check restore it, while a lost enrolment would need a person.
 */
export function providerOf(stored: unknown): StoredProvider | null {
  const { data: row } = providerRowSchema.safeParse(stored);
  if (row === undefined) return null;
  const record = agentRecordSchema.safeParse(parseJson(row.record ?? 'null')).data ?? null;
  return {
    id: row.id,
    publicKey: row.public_key,
    tokenSalt: row.token_salt,
    enrolledAt: row.enrolled_at,
    sequence: row.sequence,
    record,
    lastHeartbeatAt: record === null ? null : row.last_heartbeat_at,
    lastHeartbeatIp: row.last_heartbeat_ip,
    heartbeatCount: row.heartbeat_count,
    verification: verificationSchema.safeParse(parseJson(row.verification)).data ?? UNVERIFIED,
  };
}
