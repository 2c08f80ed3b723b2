import type { OutgoingHttpHeaders } from 'node:http';
import { anthropicErrorType } from '#shared/errors.ts';
import { type FailureReason, predicateOf } from '#shared/reasons.ts';
import { excerpt } from '#shared/visible.ts';
import { passedType, toCaller } from '../../platform/http/passed-headers.ts';
import type { HttpError } from '../../platform/http/responses.ts';
import { OWN_COMMAND } from '../../platform/process.ts';
import { exclusionFor } from '../circuits/circuits.ts';
import type { RoutedRequest } from '../routing/candidates.ts';
import type { GatewayError } from '../http/errors.ts';
import type { RequestEnd } from '../routing/observer.ts';
import {
  type FailedCall,
  isUnconfigured,
  nameOf,
  type Unanswered,
  type UpstreamOutcome,
  reasonOf,
  wasAttempted,
} from '../routing/outcomes.ts';
import { TOO_HEAVY } from '../protocols/chat-request.ts';
import type { Untranslatable } from '../protocols/translation/translation.ts';
import type { ErrorResponse } from '../upstream/failure.ts';
import { isObject, isTooDeep, memberOf, parseJson } from '../../platform/json.ts';
import type { ChatCall } from '../upstream/call.ts';
import type { ApiEndpoint, StandIn } from '../protocols/endpoint.ts';
import { type UpstreamError, shownWords } from '../protocols/upstream-error.ts';
import { type ChatResponse, gatewayHeaders } from './response.ts';

type CallForm = Pick<ChatCall, 'request' | 'chatForm'>;

/** An upstream's own response, with the headers that go with its body. */
interface PassedOn {
  readonly kind: 'passed';
  /** What it says, for an answer that has begun. */
  readonly error: HttpError;
  readonly body: Buffer;
  readonly headers: OutgoingHttpHeaders;
}

type FinalResponse =
  | PassedOn
  | { readonly kind: 'answer'; readonly body: object }
  | { readonly kind: 'error'; readonly error: GatewayError };

/** Who is answered, and for which request. */
export interface CallerContext {
  readonly context: RoutedRequest;
  readonly response: ChatResponse;
  /** Headers of every response to this request. */
  readonly base: OutgoingHttpHeaders;
  readonly deps: FinalDeps;
}

export interface FinalDeps {
  /** Null if the machine is unknown. */
  readonly machineName: (id: string) => string | null;
}

/** Answers where no upstream did; returns how the request ended. */
export function sendFinalResponse(
  routed: Unanswered,
  { base, context, response, deps: { machineName } }: CallerContext,
): RequestEnd {
  const { call, observer } = context;
  const { passed, reason } = routed;
  const final = finalResponse(call, routed, machineName);
  const { upstream, provider } = passed ?? { upstream: null, provider: null };
  const headers = { ...base, ...gatewayHeaders(upstream, reason, provider) };
  const status = final.kind === 'answer' ? 200 : final.error.status;
  observer.answering({ status, upstream, fallbackReason: reason });
  if (final.kind === 'answer')
    response.send(Buffer.from(JSON.stringify(final.body)), {
      ...headers,
      'content-type': JSON_TYPE,
    });
  else if (final.kind === 'error') response.fail(final.error, headers);
  else response.passOn(final.error, final.body, { ...final.headers, ...headers });
  return final.kind === 'answer' ? 'done' : 'failed';
}

const JSON_TYPE = 'application/json';

/**
 * An upstream's own response where one is to be passed on, else an error for the last attempt's failure; `machineName`
 * has the names of machines for its words.
 */
function finalResponse(
  call: CallForm,
  { outcomes: all, passed }: Unanswered,
  machineName: FinalDeps['machineName'],
): FinalResponse {
  const outcomes = all.filter((outcome) => !isUnconfigured(outcome));
  const standIn = standInFor(call, outcomes);
  const failed = outcomes.filter(wasAttempted);
  if (passed?.failure.response)
    return passedOn(passed.failure, passed.failure.response, call.request.endpoint);
  if (standIn?.kind === 'answer') return standIn;
  if (standIn !== null && isTheReason(standIn, outcomes)) {
    const { message, param } = standIn;
    return { kind: 'error', error: { status: 400, code: 'invalid_request', message, param } };
  }
  // An upstream that lacks the endpoint says less than one that has it and failed.
  const last = failed.findLast(({ failure }) => failure.reason !== 'unsupported') ?? failed.at(-1);
  const named = outcomes.map((outcome) => withName(outcome, machineName));
  const error = last === undefined ? notAttempted(named) : finalErrorOf(last, named);
  return { kind: 'error', error };
}

function withName(
  outcome: UpstreamOutcome,
  machineName: FinalDeps['machineName'],
): UpstreamOutcome {
  if (outcome.kind === 'skipped' || outcome.provider === null) return outcome;
  const name = machineName(outcome.provider);
  return name === null ? outcome : { ...outcome, provider: excerpt(name) };
}

function passedOn(
  { reason }: FailedCall['failure'],
  response: ErrorResponse,
  endpoint: ApiEndpoint,
): PassedOn {
  const { status, headers, body } = response;
  const { message, code, param } = response.error;
  const error = {
    status,
    message: message || `HTTP ${status}`,
    code: code ?? 'upstream_error',
    param,
  };
  const shaped = shapedFor(endpoint, response, error, reason);
  const type = shaped === null ? passedType(headers) : JSON_TYPE;
  return {
    kind: 'passed',
    error,
    body: shaped === null ? body : Buffer.from(JSON.stringify(shaped)),
    headers: { ...toCaller(headers), 'content-type': type },
  };
}

/** In the shape in which the caller's clients look for its message; null for what has it as it came. */
function shapedFor(
  { support, vendor }: ApiEndpoint,
  { body, error: said }: ErrorResponse,
  error: HttpError,
  reason: FailureReason,
): object | null {
  // Who asks for a chat completion is told byte for byte what its upstream says; others may not know who was asked.
  if (vendor !== 'anthropic' && support !== 'translatable') return null;
  const parsed = parseJson(body.toString('utf8'));
  return vendor === 'anthropic' ? asAnthropic(parsed, error) : asOpenAi(parsed, said, reason);
}

function asAnthropic(parsed: unknown, { status, message }: HttpError): object | null {
  if (isObject(parsed) && parsed['type'] === 'error') return null;
  const error = { type: anthropicErrorType(status), message };
  return { type: 'error', error, request_id: null };
}

/**
 * FastAPI's `detail`, Mistral's and Cohere's `message`, Google's arrays: OpenAI's clients would say "no body". Codex 0.171
 * shortens its conversation by one code alone; llama.cpp says 400 in its place.
 */
function asOpenAi(
  parsed: unknown,
  { message, type, code: own, param }: UpstreamError,
  reason: FailureReason,
): object | null {
  const told = memberOf(parsed, 'error') ?? null;
  const isForeign = told === null && (isObject(parsed) || Array.isArray(parsed));
  const code = reason === 'context_length' ? TOO_LONG.code : own;
  if (message === '' || (!isForeign && code === own)) return null;
  const known = isObject(told) && !isTooDeep(told) ? told : {};
  return { error: { message, type: type ?? 'upstream_error', param, ...known, code } };
}

/** Whether no other upstream could serve the request later. */
function isTheReason({ kind }: Untranslatable, outcomes: readonly UpstreamOutcome[]): boolean {
  const others = outcomes.filter((outcome) => reasonOf(outcome) !== 'unsupported');
  return (
    kind === 'bad_request' || !others.some((each) => each.kind === 'failed' || isBackLater(each))
  );
}

const isBackLater = (outcome: UpstreamOutcome) =>
  outcome.kind === 'skipped' && outcome.waitMs !== null;

const NOTHING_SET_UP: GatewayError = {
  status: 503,
  code: 'no_upstream',
  message:
    "No source is set up. Open the dashboard's Settings, or set local.baseUrl (INGLENOOK_LOCAL_ENGINE_URL) to an engine on this machine.",
};

function notAttempted(outcomes: readonly UpstreamOutcome[]): GatewayError {
  if (outcomes.length === 0) return NOTHING_SET_UP;
  const retryAfterMs = smallestWaitMs(outcomes);
  if (allRateLimited(outcomes)) {
    const message = `Every source is rate limited; Retry-After says when the first one is back.${sentencesFor(outcomes)}`;
    return { status: 429, code: 'upstream_rate_limited', message, retryAfterMs };
  }
  const isUnserved = outcomes.some((outcome) => reasonOf(outcome) === 'no_provider');
  return (
    tooLong(outcomes) ??
    neverServed(outcomes) ?? {
      status: 503,
      code: 'no_upstream',
      message: `No source can be tried now.${sentencesFor(outcomes)}${isUnserved ? NO_MACHINE : ''}`,
      retryAfterMs,
    }
  );
}

const NO_MACHINE = ` Run "${OWN_COMMAND} doctor" on the machine that should serve local: it says what is wrong and what to do.`;

/** Clients shorten their conversation by this code, as by that of the upstreams themselves. */
const TOO_LONG = { status: 400, code: 'context_length_exceeded' } as const;

function tooLong(outcomes: readonly UpstreamOutcome[]): GatewayError | null {
  const others = outcomes.filter((outcome) => reasonOf(outcome) !== 'context_length');
  if (others.length === outcomes.length || others.some(isBackLater)) return null;
  return { ...TOO_LONG, message: `The prompt is too long.${sentencesFor(outcomes)}` };
}

/** Where waiting does not help: no upstream has the endpoint, or the model. */
function neverServed(outcomes: readonly UpstreamOutcome[]): GatewayError | null {
  const reasons = outcomes.map(reasonOf);
  if (!reasons.every((reason) => reason === 'unsupported' || reason === 'model_mismatch'))
    return null;
  const [code, lack] = reasons.includes('model_mismatch')
    ? (['model_not_found', 'has this model'] as const)
    : (['unsupported_endpoint', 'supports this endpoint'] as const);
  return { status: 404, code, message: `No source ${lack}.${sentencesFor(outcomes)}` };
}

function finalErrorOf({ failure }: FailedCall, outcomes: readonly UpstreamOutcome[]): GatewayError {
  const { surfaced } = failure;
  if (surfaced === 'as_is') throw new Error('an upstream response is passed on, not reworded');
  const message = `No source answered.${sentencesFor(outcomes)}`;
  switch (surfaced.code) {
    case 'upstream_rate_limited': {
      const status = allRateLimited(outcomes) ? 429 : 503;
      const limited = outcomes.filter((outcome) => reasonOf(outcome) === 'rate_limited');
      return { ...surfaced, status, message, retryAfterMs: smallestWaitMs(limited) };
    }
    case 'upstream_busy':
    case 'upstream_unavailable': {
      const retryAfterMs = failure.retryAfterMs ?? exclusionFor(failure)?.ms ?? null;
      return { ...surfaced, message, retryAfterMs };
    }
    case 'overloaded': {
      const own = `The gateway has no file descriptor left for a connection (${failure.detail}); raise its limit of open files, or try again in a moment.`;
      return { ...surfaced, message: own, retryAfterMs: failure.retryAfterMs };
    }
    default:
      return { ...surfaced, message };
  }
}

const allRateLimited = (outcomes: readonly UpstreamOutcome[]): boolean =>
  outcomes.every((outcome) => reasonOf(outcome) === 'rate_limited');

function smallestWaitMs(outcomes: readonly UpstreamOutcome[]): number | null {
  const waits = outcomes.flatMap((outcome) => {
    if (outcome.kind === 'failed') return exclusionFor(outcome.failure)?.ms ?? [];
    if (outcome.kind === 'hedge_lost') return [];
    const { reason, waitMs } = outcome;
    return reason === 'circuit_open' ? Math.min(waitMs ?? PROBING_MS, PROBING_MS) : (waitMs ?? []);
  });
  return waits.length === 0 ? null : Math.min(...waits);
}

/** Until a probe has told more, at most: were none running, an open circuit would have admitted a request with no other choice. */
const PROBING_MS = 5000;

function sentencesFor(outcomes: readonly UpstreamOutcome[]): string {
  return outcomes.map((outcome) => ` ${nameOf(outcome)} ${wordsFor(outcome)}.`).join('');
}

function wordsFor(outcome: UpstreamOutcome): string {
  const reason = reasonOf(outcome);
  const words = predicateOf(reason);
  if (outcome.kind === 'skipped' && reason === 'no_provider' && outcome.causes !== undefined)
    return `${words} (${outcome.causes()})`;
  if (reason === 'zero_spend' && outcome.upstream === 'local')
    return `${words}, and its engine sends this model's prompts to a service`;
  if (outcome.kind !== 'failed') return words;
  const { detail, said } = outcome.failure;
  const first = shownWords(said);
  const told = first === '' ? detail : `${detail}: ${first}`;
  // The detail names the status.
  return reason.startsWith('http_') ? `answered ${told}` : `${words} (${told})`;
}

/** In place of upstreams that lack the endpoint, or why they could not serve the request. */
function standInFor(
  { request, chatForm }: CallForm,
  outcomes: readonly UpstreamOutcome[],
): StandIn | null {
  if (!outcomes.some((outcome) => reasonOf(outcome) === 'unsupported')) return null;
  const { estimate } = request.endpoint;
  if (estimate !== undefined) {
    const body = parseJson(request.bytes.toString('utf8'));
    return body === undefined ? TOO_HEAVY : estimate(body);
  }
  const form = chatForm?.() ?? null;
  return form !== null && 'kind' in form ? form : null;
}
