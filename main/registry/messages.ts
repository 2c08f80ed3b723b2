import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import type { SignedMessage } from '../platform/http-signature.ts';
import { invalidRequest, type Refusal } from './answers.ts';

/** A message of an agent and where it came from. */
export interface AgentMessage extends SignedMessage {
  /** Address of the other end of the connection. */
  readonly ip: string;
}

/** A body of the right shape, or what is wrong with it. */
export type ReadBody<T> = { readonly kind: 'read'; readonly value: T } | Refusal;

/** Reads a JSON body; the first field at fault is named. */
export function readBody<T>(body: Buffer, schema: z.ZodType<T>): ReadBody<T> {
  const json = parseJson(body);
  if (json === undefined) return invalidRequest('The body must be a JSON object in UTF-8.');
  const parsed = schema.safeParse(json);
  if (parsed.success) return { kind: 'read', value: parsed.data };
  const [issue] = parsed.error.issues;
  const field = fieldName(issue?.path ?? []);
  const why = issue?.message ?? 'invalid';
  return field === ''
    ? invalidRequest('The body must be a JSON object in UTF-8.')
    : invalidRequest(`${field}: ${why}`, field);
}

function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) return undefined;
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

/** A path as people write it: `gpu.devices[0].name`. */
function fieldName(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (name, part) =>
      typeof part === 'number' ? `${name}[${part}]` : `${name}${name && '.'}${String(part)}`,
    '',
  );
}

/** An address in its plainest form: IPv4 without the IPv6 wrapping, no zone. */
export function plainIp(ip: string): string {
  return ip.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
}
