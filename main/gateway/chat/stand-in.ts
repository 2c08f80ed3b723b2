import { parseJson } from '../../platform/json.ts';
import { reasonOf, type UpstreamOutcome } from '../routing/fallback-reasons.ts';
import type { ChatCall } from '../upstream/call.ts';
import { TOO_HEAVY, type Untranslatable } from '../upstream/chat-form.ts';
import type { ChatRequest } from '../upstream/chat-request.ts';
import type { ApiEndpoint } from '../upstream/endpoint.ts';

/** The gateway's own answer in place of upstreams that lack the endpoint, or why they could not serve the request. */
export type StandIn = { readonly kind: 'answer'; readonly body: object } | Untranslatable;

export function standInFor(
  { request, chatForm }: Pick<ChatCall, 'request' | 'chatForm'>,
  outcomes: readonly UpstreamOutcome[],
): StandIn | null {
  if (!outcomes.some((outcome) => reasonOf(outcome) === 'unsupported')) return null;
  const { estimate } = request.endpoint;
  if (estimate !== undefined) return estimated(request, estimate);
  const form = chatForm?.() ?? null;
  return form === null || form.kind === 'chat' ? null : form;
}

function estimated(
  { bytes }: ChatRequest,
  estimate: NonNullable<ApiEndpoint['estimate']>,
): StandIn {
  const body = parseJson(bytes.toString('utf8'));
  if (body === undefined) return TOO_HEAVY;
  const count = estimate(body);
  switch (count.kind) {
    case 'counted':
      return { kind: 'answer', body: count.body };
    case 'unsupported':
      return { ...count, param: count.field };
    case 'bad_request':
      return count;
  }
}
