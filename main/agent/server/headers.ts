import type { IncomingHttpHeaders } from 'node:http';
import type { ResponseHeaders } from '../../platform/http/types.ts';
import { memberOf, parseJson } from '../../platform/json.ts';

/** Headers of the caller that go on to the engine: no cookie, no key of ours, nothing of a browser. */
const TO_ENGINE = new Set(['accept', 'user-agent', 'traceparent', 'tracestate', 'x-request-id']);
const TO_ENGINE_PREFIXES = ['openai-', 'x-stainless-'];

/** Headers of the engine that go back; the length keeps a cut answer from looking whole. */
const TO_CALLER = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'x-request-id',
  'request-id',
  'retry-after',
  'retry-after-ms',
]);
const TO_CALLER_PREFIXES = ['x-ratelimit-', 'openai-'];

/**
 * Headers of a call of the engine, names and values in turn. The engine's own key, where its owner has set
 * one, goes before whatever the caller holds.
 */
export function engineHeaders(
  caller: IncomingHttpHeaders,
  engineAuthorization: string | null,
  hasBody: boolean,
): string[] {
  const headers = hasBody ? ['content-type', 'application/json'] : [];
  const authorization = engineAuthorization ?? caller.authorization;
  if (authorization !== undefined) headers.push('authorization', authorization);
  for (const [name, value] of Object.entries(caller)) {
    if (typeof value === 'string' && isListed(name, TO_ENGINE, TO_ENGINE_PREFIXES)) {
      headers.push(name, value);
    }
  }
  return headers;
}

/** Headers of the engine's answer that the caller gets. */
export function callerHeaders(engine: ResponseHeaders): Record<string, string> {
  const headers: Record<string, string> = { 'cache-control': 'no-store' };
  for (const [name, value] of Object.entries(engine)) {
    if (typeof value === 'string' && isListed(name, TO_CALLER, TO_CALLER_PREFIXES)) {
      headers[name] = value;
    }
  }
  return headers;
}

function isListed(name: string, names: ReadonlySet<string>, prefixes: readonly string[]): boolean {
  return names.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}

/** A body beyond this is not searched for its model: that would hold up everybody else. */
const MAX_SEARCHED_BYTES = 1024 * 1024;

/** The model that a body asks for; null where it names none, or is too large to be searched. */
export function modelAskedFor(bytes: Buffer): string | null {
  if (bytes.length > MAX_SEARCHED_BYTES) return null;
  // The engine judges what it is sent, and answers in its own words.
  const model = memberOf(parseJson(bytes.toString('utf8')), 'model');
  return typeof model === 'string' && model !== '' && model.length <= 1024 ? model : null;
}
