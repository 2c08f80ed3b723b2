import type { IncomingHttpHeaders } from 'node:http';
import type { ResponseHeaders } from '../../platform/http/types.ts';

/** Forwarded headers (docs/http-api.md#forwarded-headers); `authorization`, for `local` only, is in `OwnHeaders`. */
const TO_UPSTREAM = new Set(['accept', 'user-agent', 'traceparent', 'tracestate', 'x-request-id']);
const TO_UPSTREAM_PREFIXES = ['openai-', 'anthropic-', 'x-stainless-'];

/** Headers returned to the caller; the content type is set where the answer is written. */
const TO_CALLER = new Set(['x-request-id', 'request-id', 'retry-after', 'retry-after-ms']);
const TO_CALLER_PREFIXES = ['x-ratelimit-', 'openai-', 'anthropic-'];

/** Added to the caller's headers. */
export interface OwnHeaders {
  readonly contentType: string;
  /** The whole `Authorization` value, or null. */
  readonly authorization: string | null;
  /** From the configuration; they replace all others. */
  readonly extra: Readonly<Record<string, string>>;
}

/** Names and values in turn. */
export function upstreamHeaders(caller: IncomingHttpHeaders, own: OwnHeaders): string[] {
  const extraNames = Object.keys(own.extra);
  const replaced = new Set(extraNames.map((name) => name.toLowerCase()));
  const headers: string[] = [];
  const add = (name: string, value: string) => {
    if (!replaced.has(name)) headers.push(name, value);
  };
  add('content-type', own.contentType);
  if (own.authorization !== null) add('authorization', own.authorization);
  for (const name of Object.keys(caller)) {
    const value = caller[name];
    if (typeof value === 'string' && isListed(name, TO_UPSTREAM, TO_UPSTREAM_PREFIXES))
      add(name, value);
  }
  for (const name of extraNames) headers.push(name, own.extra[name] ?? '');
  return headers;
}

export function callerHeaders(upstream: ResponseHeaders): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of Object.keys(upstream)) {
    const value = upstream[name];
    if (typeof value === 'string' && isListed(name, TO_CALLER, TO_CALLER_PREFIXES)) {
      headers[name] = value;
    }
  }
  return headers;
}

function isListed(name: string, names: ReadonlySet<string>, prefixes: readonly string[]): boolean {
  return names.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}
