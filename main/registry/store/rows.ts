import { z } from 'zod';
import { agentRecordSchema, providerEventSchema, providerSchema } from '#shared/provider.ts';
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

/** A row of `providers`; the two JSON columns are parsed separately. */
export const providerRowSchema = z.object({
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
export type ProviderRow = z.infer<typeof providerRowSchema>;

export const enrollmentRowSchema = z.object({ digest: z.string().min(1), expires_at: wallMs });

export const documentRowSchema = z.object({
  name: z.string(),
  json: z.string().refine((text) => parsed(text) !== undefined, { error: 'is not JSON' }),
});

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
export function providerRow(provider: StoredProvider): ProviderRow {
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

export interface DamagedPart {
  readonly part: 'record' | 'verification';
  readonly problem: string;
}

/**
 * An unreadable record or verification is treated as missing: the next heartbeat and check restore it, while a lost
 * enrolment would need a person.
 */
export function providerOf(row: ProviderRow): {
  readonly provider: StoredProvider;
  readonly damaged: readonly DamagedPart[];
} {
  const damaged: DamagedPart[] = [];
  const record = row.record === null ? null : agentRecordSchema.safeParse(parsed(row.record));
  if (record?.success === false) damaged.push({ part: 'record', problem: problemOf(record.error) });
  const verification = verificationSchema.safeParse(parsed(row.verification));
  if (!verification.success)
    damaged.push({ part: 'verification', problem: problemOf(verification.error) });
  const isRecordLost = record?.success === false;
  const provider: StoredProvider = {
    id: row.id,
    publicKey: row.public_key,
    tokenSalt: row.token_salt,
    enrolledAt: row.enrolled_at,
    sequence: row.sequence,
    record: record?.data ?? null,
    lastHeartbeatAt: isRecordLost ? null : row.last_heartbeat_at,
    lastHeartbeatIp: row.last_heartbeat_ip,
    heartbeatCount: row.heartbeat_count,
    verification: verification.data ?? UNVERIFIED,
  };
  return { provider, damaged };
}

/** The field and the broken rule; zod's messages never quote a value of these schemas. */
export function problemOf(error: z.ZodError): string {
  const [issue] = error.issues;
  if (issue === undefined) return 'is invalid';
  return `${issue.path.join('.') || 'it'}: ${issue.code}`;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}
