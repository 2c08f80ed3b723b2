import type { IncomingHttpHeaders } from 'node:http';
import { fromCaller } from '../../platform/http/passed-headers.ts';
import type { ResponseHeaders } from '../../platform/http/types.ts';
import type { ApiEndpoint } from '../protocols/endpoint.ts';

/** Anthropic and LMDeploy refuse a message without one (InternLM/lmdeploy, serve/anthropic). */
export const ANTHROPIC_VERSION: readonly [name: string, value: string] = [
  'anthropic-version',
  '2023-06-01',
];

export interface OwnHeaders {
  readonly contentType: string;
  readonly vendor: ApiEndpoint['vendor'];
  /** Whose key an upstream is sent: `local` gets the caller's own. */
  readonly key: 'own' | 'other';
  /** The whole `Authorization` value, or null. */
  readonly authorization: string | null;
  /** The headers in the settings; they replace all others. */
  readonly extra: Readonly<Record<string, string>>;
}

/** Names and values in turn. */
export function upstreamHeaders(caller: IncomingHttpHeaders, own: OwnHeaders): string[] {
  const headers = ['content-type', own.contentType];
  if (own.authorization !== null) headers.push('authorization', own.authorization);
  headers.push(...fromCaller(caller, own.key));
  const [version] = ANTHROPIC_VERSION;
  if (own.vendor === 'anthropic' && caller[version] === undefined)
    headers.push(...ANTHROPIC_VERSION);
  const extra = Object.entries(own.extra);
  if (extra.length === 0) return headers;
  const replaced = new Set(extra.map(([name]) => name.toLowerCase()));
  const kept = headers.filter((_, at) => !replaced.has(headers[at - (at % 2)] ?? ''));
  return [...kept, ...extra.flat()];
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
