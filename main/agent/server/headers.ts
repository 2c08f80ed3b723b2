import type { IncomingHttpHeaders } from 'node:http';
import { fromCaller, passedHeaders } from '../../platform/http/passed-headers.ts';
import { NOSNIFF } from '../../platform/http/responses.ts';
import type { ResponseHeaders } from '../../platform/http/types.ts';
import { memberOf, parseJson } from '../../platform/json.ts';

/** Passed back from the engine to the caller; the length shows whether a response was cut. */
const TO_CALLER =
  /^(content-(type|length|encoding)|x-request-id|request-id|retry-after|retry-after-ms)$|^(x-ratelimit|openai|anthropic)-/;

/**
 * The headers of a request to the engine, names and values in turn. `engineAuthorization`, set by the owner, replaces
 * the caller's.
 */
export function engineHeaders(
  caller: IncomingHttpHeaders,
  engineAuthorization: string | null,
  hasBody: boolean,
): string[] {
  const headers = hasBody ? ['content-type', caller['content-type'] ?? 'application/json'] : [];
  const authorization = engineAuthorization ?? caller.authorization;
  if (authorization !== undefined) headers.push('authorization', authorization);
  return [...headers, ...fromCaller(caller)];
}

export function callerHeaders(engine: ResponseHeaders): Record<string, string> {
  return { 'cache-control': 'no-store', ...NOSNIFF, ...passedHeaders(engine, TO_CALLER) };
}

/** The model is not read from larger bodies: parsing them would block the event loop. */
const MAX_PARSED_BYTES = 1024 * 1024;

/** The `model` of a request body; null if it has none or is too large. */
export function requestedModel(bytes: Buffer): string | null {
  if (bytes.length > MAX_PARSED_BYTES) return null;
  // Malformed bodies are forwarded to the engine, which reports the error.
  const model = memberOf(parseJson(bytes.toString('utf8')), 'model');
  return typeof model === 'string' && model !== '' && model.length <= 1024 ? model : null;
}
