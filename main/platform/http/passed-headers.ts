import type { IncomingHttpHeaders } from 'node:http';
import type { ResponseHeaders } from './types.ts';

/** Headers that one side of an exchange may set on the other. */
export interface PassedNames {
  readonly names: ReadonlySet<string>;
  readonly prefixes: readonly string[];
}

/**
 * Passed on from the caller of a gateway or an agent (docs/http-api.md#forwarded-headers): no cookies, no gateway
 * token, no browser headers. What is called may be a gateway in turn, so the hops are among them.
 */
const FROM_CALLER: PassedNames = {
  names: new Set([
    'accept',
    'user-agent',
    'traceparent',
    'tracestate',
    'x-request-id',
    'x-gateway-hops',
  ]),
  prefixes: ['openai-', 'anthropic-', 'x-stainless-'],
};

/** In characters; no header that is passed on needs more. */
const MAX_VALUE_LENGTH = 1024;
/** In characters, of all names and values: Node's clients break off at a head of 16 KiB. */
const MAX_HEAD_LENGTH = 8 * 1024;

function isPassed(name: string, { names, prefixes }: PassedNames): boolean {
  return names.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}

/** The headers of a caller that are passed on, one after the other. */
export function eachFromCaller(
  caller: IncomingHttpHeaders,
  pass: (name: string, value: string) => void,
): void {
  for (const name of Object.keys(caller)) {
    const value = caller[name];
    if (typeof value === 'string' && isPassed(name, FROM_CALLER)) pass(name, value);
  }
}

/** The listed headers of a response; what would make its head too long is dropped. */
export function passedHeaders(from: ResponseHeaders, listed: PassedNames): Record<string, string> {
  const headers: Record<string, string> = {};
  let length = 0;
  for (const name of Object.keys(from)) {
    const value = from[name];
    if (typeof value !== 'string' || value.length > MAX_VALUE_LENGTH) continue;
    if (!isPassed(name, listed)) continue;
    length += name.length + value.length;
    if (length > MAX_HEAD_LENGTH) break;
    headers[name] = value;
  }
  return headers;
}
