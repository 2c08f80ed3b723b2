import type { OutgoingHttpHeaders } from 'node:http';
import type { UpstreamId } from '#shared/ids.ts';
import type { DroppedFields } from '../protocols/translation/translation.ts';
import { sourceName } from '../routing/outcomes.ts';
import type { UpstreamCall } from '../upstream/call.ts';

const [UPSTREAM, REASON, PROVIDER] = [
  'x-gateway-upstream',
  'x-gateway-fallback-reason',
  'x-gateway-provider',
] as const;

/** Those that an answer which began early repeats at its end. */
export const TRAILERS = [UPSTREAM, REASON, PROVIDER];

/** On every answer to a chat request: who gave it, and why no earlier upstream did. */
export function gatewayHeaders(
  upstream: UpstreamId | null,
  reason: string,
  provider: string | null,
): OutgoingHttpHeaders {
  return {
    [UPSTREAM]: upstream ?? 'none',
    [REASON]: reason,
    ...(provider === null ? {} : { [PROVIDER]: provider }),
  };
}

/** For which no upstream was called. */
export const NOT_ROUTED: OutgoingHttpHeaders = gatewayHeaders(null, 'none', null);

/** Of the answer to a call. */
export function callHeaders(
  { upstream, provider, model, translator }: UpstreamCall,
  reason: string,
): OutgoingHttpHeaders {
  return {
    ...gatewayHeaders(upstream, reason, provider),
    ...(SHOWABLE.test(model) && { 'x-gateway-model': model }),
    ...(translator !== null && droppedHeader(translator.dropped)),
  };
}

/** Callers may choose any name, and a header takes only this. */
const SHOWABLE = /^[\x21-\x7e]{1,200}$/;

function droppedHeader({ named, others }: DroppedFields): OutgoingHttpHeaders {
  const all = others === 0 ? named : [...named, `+${others}`];
  return all.length === 0 ? {} : { 'x-gateway-dropped': all.join(', ') };
}

/** How many tool calls were made of text. */
export const repairedHeader = (calls: number): Record<string, string> =>
  calls === 0 ? {} : { 'x-gateway-repaired': `tool_calls=${calls}` };

/** An SSE comment, which clients skip: an early head could name only who was waited for. */
export function answeredBy(headers: OutgoingHttpHeaders): Buffer {
  const { [UPSTREAM]: upstream, [PROVIDER]: provider, [REASON]: reason } = headers;
  const by = {
    upstream: String(upstream),
    provider: provider === undefined ? null : String(provider),
  };
  const why = reason === 'none' ? '' : ` (${String(reason)})`;
  return Buffer.from(`: answered by ${sourceName(by)}${why}\n\n`);
}
