import type { IncomingHttpHeaders } from 'node:http';
import type { ResponseHeaders } from './types.ts';

/**
 * Passed on from the caller of a gateway or an agent (docs/contributing/upstream-behaviour.md#headers): no cookies, no gateway
 * token, no browser headers. By the name of a session hosts find what is in their cache. What is called may be a gateway
 * in turn, so the hops are among them.
 */
const FROM_CALLER =
  /^(accept|user-agent|traceparent|tracestate|x-request-id|x-gateway-hops|x-claude-code-session-id|session[-_]id|x-session-id|x-session-affinity|x-opencode-session|x-openwebui-chat-id|openai-beta|anthropic-(beta|version))$|^x-stainless-/;
/** Any other of these may name the caller's account (`OpenAI-Organization`), which belongs to the caller's own key. */
const BESIDE_OWN_KEY = /^(openai|anthropic)-/;

/** Returned to the caller; the headers of the body are set by who sends it, and those of the account are the owner's. */
const TO_CALLER =
  /^(x-request-id|request-id|retry-after|retry-after-ms)$|^(x-ratelimit|openai|anthropic)-(?!organi|project|workspace)/;

/** In characters; no header that is passed on needs more. */
const MAX_VALUE_LENGTH = 1024;
/** In characters, of all names and values: Node's clients break off at a head of 16 KiB. */
const MAX_HEAD_LENGTH = 8 * 1024;

/** The headers of a caller that are passed on with its own key or another: names and values in turn. */
export function fromCaller(caller: IncomingHttpHeaders, key: 'own' | 'other'): string[] {
  const headers: string[] = [];
  for (const name of Object.keys(caller)) {
    const value = caller[name];
    const isPassed = FROM_CALLER.test(name) || (key === 'own' && BESIDE_OWN_KEY.test(name));
    if (typeof value === 'string' && isPassed) headers.push(name, value);
  }
  return headers;
}

/** The headers of a response that are returned to the caller. */
export const toCaller = (from: ResponseHeaders): Record<string, string> =>
  passedHeaders(from, TO_CALLER);

/** The headers of a response with such names; what would make its head too long is dropped. */
export function passedHeaders(from: ResponseHeaders, names: RegExp): Record<string, string> {
  const headers: Record<string, string> = {};
  let length = 0;
  for (const name of Object.keys(from)) {
    const value = from[name];
    if (typeof value !== 'string' || value.length > MAX_VALUE_LENGTH) continue;
    if (!names.test(name)) continue;
    length += name.length + value.length;
    if (length > MAX_HEAD_LENGTH) break;
    headers[name] = value;
  }
  return headers;
}

/** Some proxies say it twice. */
function typeOf({ 'content-type': type }: ResponseHeaders): string {
  return (Array.isArray(type) ? type[0] : type) ?? '';
}

/** Engines are loose with their types: what is no JSON by its type may be. */
export const isJson = (headers: ResponseHeaders): boolean =>
  /^application\/([\w.+-]*\+)?json\s*(;|$)/i.test(typeOf(headers));

export const isPage = (headers: ResponseHeaders): boolean => /^text\/html/i.test(typeOf(headers));

/**
 * The content type under which an upstream's error reaches the caller: JSON stays JSON, everything else is plain
 * text, so that no browser runs a page in the gateway's name.
 */
export function passedType(upstream: ResponseHeaders): string {
  const isSaid = typeOf(upstream) === '' || isJson(upstream);
  return isSaid ? 'application/json' : 'text/plain; charset=utf-8';
}

/** As `passedType`, for an answer that is not JSON: audio, text and subtitles. */
export function bytesType(upstream: ResponseHeaders): string {
  const type = typeOf(upstream);
  const isPlain = /^(audio\/|video\/|text\/(plain|vtt|event-stream)\b|application\/x-subrip\b)/i;
  return isPlain.test(type) ? type : 'application/octet-stream';
}
