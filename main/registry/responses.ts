import { isUtf8 } from 'node:buffer';
import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../platform/clock.ts';
import { invalidRequest, type Refusal } from '../platform/http/routes.ts';
import { parseJson } from '../platform/json.ts';
import { checkSignature, type SignedMessage } from '../platform/http-signature.ts';

/** No provider of that id has sent a heartbeat. */
export function providerNotFound(id: string): Refusal {
  const message = `There is no machine "${id.slice(0, 100)}"; GET /api/v1/providers lists all.`;
  return { kind: 'refused', status: 404, code: 'provider_not_found', message };
}

export function unwritten(message: string): Refusal {
  return { kind: 'refused', status: 503, code: 'registry_unwritten', message, retryAfterMs: 5000 };
}

/**
 * What the signature of a message says, or why the message is refused. `unknown_key` is not judged here, because its
 * meaning depends on the message.
 */
export function checkMessage(
  message: AgentMessage,
  keyOf: (keyId: string) => KeyObject | null,
  { clock }: { readonly clock: Clock },
) {
  const check = checkSignature(message, keyOf);
  if (check.kind === 'unknown_key') return check;
  if (check.kind === 'malformed')
    return invalidSignature(`The signature cannot be read: ${check.detail}.`);
  if (check.kind !== 'valid') return invalidSignature(SIGNATURE_WORDS[check.kind]);
  return clockSkew(check.createdS, clock.now()) ?? check;
}

const SIGNATURE_WORDS = {
  digest_mismatch: 'The body is not the one that Content-Digest names.',
  forged: 'The signature was not made with the key of this keyid over this message.',
} as const;

export function invalidSignature(message: string): Refusal {
  return { kind: 'refused', status: 401, code: 'invalid_signature', message };
}

/** Largest difference between an agent's clock and the registry's, either way. */
const MAX_SKEW_S = 120;

/** Null if the clocks agree. */
function clockSkew(createdS: number, nowMs: number): Refusal | null {
  const skewS = createdS - nowMs / 1000;
  if (Math.abs(skewS) <= MAX_SKEW_S) return null;
  const way = skewS > 0 ? 'ahead of' : 'behind';
  const message = `This machine's clock is ${Math.abs(Math.round(skewS))} s ${way} the registry's; at most ${MAX_SKEW_S} s is allowed. The Date header has the registry's time.`;
  return { kind: 'refused', status: 401, code: 'clock_skew', message };
}

export interface AgentMessage extends SignedMessage {
  /** Remote address of the connection. */
  readonly ip: string;
}

type ReadJson<T> = { readonly kind: 'read'; readonly value: T } | Refusal;

export const readBody = <T>(body: Buffer, schema: z.ZodType<T>): ReadJson<T> =>
  readJson(isUtf8(body) ? parseJson(body.toString('utf8')) : undefined, schema);

/** A refusal names the first field at fault. */
export function readJson<T>(json: unknown, schema: z.ZodType<T>): ReadJson<T> {
  const parsed = schema.safeParse(json);
  if (parsed.success) return { kind: 'read', value: parsed.data };
  const [issue] = parsed.error.issues;
  const field = z.core.toDotPath(issue?.path ?? []);
  return field === ''
    ? invalidRequest('The body must be a JSON object in UTF-8.')
    : invalidRequest(`${field}: ${issue?.message ?? 'invalid'}`, field);
}
