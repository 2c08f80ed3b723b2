import { z } from 'zod';
import { isProviderId } from '../../platform/agent-identity.ts';
import { parseHttpDate } from '../../platform/dates.ts';
import type { FetchResult } from '../../platform/http/fetch-body.ts';
import type { ResponseHeaders } from '../../platform/http/types.ts';
import { parseJson } from '../../platform/json.ts';
import { isSecretShaped } from '../../platform/secrets.ts';
import { excerpt } from '../excerpt.ts';
import type { BeatOutcome, EnrollOutcome, LinkFailure } from './link.ts';

/** What the sender can correct by itself before trying again. */
export type Correction =
  | { readonly kind: 'count_on'; readonly last: number }
  | { readonly kind: 'set_clock'; readonly registryMs: number };

/** A parsed answer of the registry. */
export type Read<T> =
  | { readonly kind: 'good'; readonly value: T }
  | {
      readonly kind: 'bad';
      readonly failure: LinkFailure;
      readonly code: string;
      readonly correction: Correction | null;
    };

const text = z.string().max(4096);

/** An unusable pool counts as none. */
const poolSchema = z
  .object({ id: z.string().regex(/^[\w-]{1,64}$/), registries: z.array(text).max(16) })
  .nullish()
  .transform((pool) => pool ?? null)
  .catch(null);

const enrolledSchema = z.object({
  id: z.string().refine(isProviderId),
  gateway_token: z.string().refine(isSecretShaped),
  pool: poolSchema,
});

const beatSchema = z.object({
  status: text,
  verification: z.object({ status: text, failure_reason: text }),
  heartbeat_ms: z.number().positive(),
  pool: poolSchema,
});

const errorSchema = z.object({ error: z.object({ message: z.string(), code: z.string() }) });

export function readEnrolled(result: FetchResult, nowMs: number): Read<EnrollOutcome> {
  return read(result, nowMs, (json) => {
    const { data } = enrolledSchema.safeParse(json);
    if (data === undefined) return null;
    return { kind: 'enrolled', id: data.id, gatewayToken: data.gateway_token, pool: data.pool };
  });
}

export function readBeat(result: FetchResult, nowMs: number): Read<BeatOutcome> {
  const seen = read<BeatOutcome>(result, nowMs, (json) => {
    const { data } = beatSchema.safeParse(json);
    if (data === undefined) return null;
    const { status, verification, heartbeat_ms: heartbeatMs, pool } = data;
    return { kind: 'accepted', standing: { status, verification }, heartbeatMs, pool };
  });
  if (seen.kind === 'bad' && seen.code === 'registry_unwritten') {
    return { kind: 'good', value: { kind: 'unwritten', message: seen.failure.message } };
  }
  return seen;
}

function read<T>(result: FetchResult, nowMs: number, good: (json: unknown) => T | null): Read<T> {
  if (result.kind !== 'response') {
    return bad({ kind: 'unreachable', message: `The gateway did not answer: ${result.detail}.` });
  }
  const { status, headers } = result;
  const json = parseJson(result.body.toString('utf8'));
  if (status === 200) {
    const value = good(json);
    return value === null ? bad(garbage(status)) : { kind: 'good', value };
  }
  const error = errorSchema.safeParse(json).data?.error;
  const message =
    error === undefined ? `The gateway answered HTTP ${status}.` : excerpt(error.message);
  if (status === 429 || status >= 500) {
    const retryAfterMs = retryAfter(headers, nowMs);
    return bad({ kind: 'busy', message, retryAfterMs }, error?.code);
  }
  if (error === undefined) return bad(garbage(status));
  return refused(status, headers, { code: error.code, message });
}

function refused<T>(
  status: number,
  headers: ResponseHeaders,
  { code, message }: { readonly code: string; readonly message: string },
): Read<T> {
  switch (code) {
    case 'unknown_provider':
      return bad({ kind: code, message }, code);
    case 'sequence_reused': {
      const last = Number(headers['x-gateway-sequence']);
      const correction = Number.isSafeInteger(last) ? ({ kind: 'count_on', last } as const) : null;
      return bad({ kind: code, message }, code, correction);
    }
    case 'clock_skew': {
      const date = headers['date'];
      const registryMs = typeof date === 'string' ? parseHttpDate(date) : null;
      const correction = registryMs === null ? null : ({ kind: 'set_clock', registryMs } as const);
      return bad({ kind: code, message }, code, correction);
    }
    default:
      return bad({ kind: 'refused', status, code: excerpt(code), message }, code);
  }
}

function garbage(status: number): LinkFailure {
  const message = `The server at that address (HTTP ${status}) is not a Switchyard gateway.`;
  return { kind: 'garbage', message };
}

function bad<T>(failure: LinkFailure, code = '', correction: Correction | null = null): Read<T> {
  return { kind: 'bad', failure, code, correction };
}

/** `Retry-After` in milliseconds, from seconds or a date; null if it is missing or invalid. */
function retryAfter(headers: ResponseHeaders, nowMs: number): number | null {
  const value = headers['retry-after'];
  if (typeof value !== 'string') return null;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1000;
  const at = parseHttpDate(value);
  return at === null ? null : Math.max(0, at - nowMs);
}
