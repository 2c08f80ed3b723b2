import type { UpstreamId } from '#shared/ids.ts';
import type { FailureReason } from '#shared/reasons.ts';
import type { ResponseHeaders, TransportFailure } from '../../platform/http/types.ts';
import type { UpstreamErrorCode } from '#shared/errors.ts';
import { parseHttpDate } from '../../platform/clock.ts';
import { numberOf } from '../../platform/json.ts';
import { durationMs, type UpstreamError } from '../protocols/upstream-error.ts';
import type { ApiEndpoint } from '../protocols/endpoint.ts';
import { type Meaning, meaningOf, saysBusy, saysLoading, saysModel } from './refusals.ts';

export interface ErrorResponse {
  readonly kind: 'status';
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: Buffer;
  /** What the body says. */
  readonly error: UpstreamError;
}

/** An error behind a 2xx: the first event of a stream, or a whole body. */
export interface ErrorAnswer {
  readonly kind: 'error_answer';
  readonly error: UpstreamError;
  readonly headers: ResponseHeaders;
}

/** How an attempt ended without an answer; `classify` says what that means. */
export type NoAnswer =
  | ErrorResponse
  | ErrorAnswer
  | TransportFailure
  /** `wasSilent`: no content had arrived. */
  | { readonly kind: 'timeout'; readonly wasSilent: boolean }
  /** An answer that can only come as a whole, whose first token cannot be seen, was not there in time. */
  | { readonly kind: 'unfinished' }
  /** An answer to a part of the prompt. */
  | { readonly kind: 'truncated'; readonly detail: string }
  /** A response that is not an answer of the endpoint. */
  | { readonly kind: 'bad'; readonly detail: string };

type SurfacedCode = UpstreamErrorCode | 'overloaded';

/**
 * Whether another upstream is asked: `once`, after a refusal that says neither that it is the request's fault nor
 * that it is not. A second one settles it.
 */
export type FallBack = 'always' | 'once' | 'never';

export interface Failure {
  readonly reason: FailureReason;
  /** How it counts in the circuit; `doubtful`: as a failure, unless other calls show that the upstream was well. */
  readonly mark: 'failure' | 'doubtful' | 'neutral';
  /** The caller's error if no upstream answers; `as_is`: the upstream's own response. */
  readonly surfaced: { readonly status: number; readonly code: SurfacedCode } | 'as_is';
  readonly fallBack: FallBack;
  readonly response: ErrorResponse | null;
  readonly retryAfterMs: number | null;
  /** For reports and logs; codes and numbers, never text from the upstream. */
  readonly detail: string;
  /** The upstream's own words, empty without any; `shownError` says what of them may be shown. */
  readonly said: string;
}

export interface CallFacts {
  readonly upstream: UpstreamId;
  /** What that key may not, or may no longer, takes the upstream from no other caller. */
  readonly hasCallersKey?: boolean;
  readonly request: { readonly endpoint: Pick<ApiEndpoint, 'support'> };
}

/** How a failure counts, what its caller is told if no upstream answers, and whether another one is asked. */
type Effect = Pick<Failure, 'mark' | 'surfaced' | 'fallBack'>;

const effect = (mark: Failure['mark'], status: number, code: SurfacedCode) =>
  ({ mark, surfaced: { status, code }, fallBack: 'always' }) as const;

const EFFECTS = {
  unreachable: effect('failure', 502, 'upstream_unreachable'),
  timeout: effect('failure', 504, 'upstream_timeout'),
  bad_response: effect('failure', 502, 'upstream_bad_response'),
  gateway_exhausted: effect('neutral', 503, 'overloaded'),
  paused: effect('neutral', 503, 'upstream_unavailable'),
  truncated: effect('neutral', 400, 'context_length_exceeded'),
  quota: effect('neutral', 502, 'upstream_quota'),
  model_not_found: effect('neutral', 404, 'model_not_found'),
  credentials: effect('neutral', 502, 'upstream_credentials'),
  busy: effect('neutral', 503, 'upstream_busy'),
  rate_limited: effect('neutral', 429, 'upstream_rate_limited'),
  unsupported: effect('neutral', 404, 'unsupported_endpoint'),
} as const satisfies Partial<Record<FailureReason, Effect>>;

/** The error of the gateway's own in place of a failure for this reason. */
export const surfacedFor = (reason: keyof typeof EFFECTS) => EFFECTS[reason].surfaced;

/** See docs/reference/routing-rules.md#what-falls-back. */
export function classify(seen: NoAnswer, called: CallFacts, nowMs: number): Failure {
  switch (seen.kind) {
    case 'unreachable':
    case 'truncated':
      return unanswered(seen.kind, seen.detail);
    case 'ended':
      return unanswered('paused', seen.detail);
    case 'exhausted':
      return { ...unanswered('gateway_exhausted', seen.detail), retryAfterMs: EXHAUSTED_RETRY_MS };
    case 'unfinished':
      return { ...unanswered('timeout', 'no whole answer in time'), mark: 'doubtful' };
    case 'timeout':
      return unanswered('timeout', 'no answer in time');
    case 'status':
      return classifyStatus(seen, seen.error, called, nowMs);
    case 'error_answer':
      return classifyErrorAnswer(seen, called, nowMs);
    default:
      return unanswered('bad_response', seen.detail);
  }
}

/** By then some running requests have ended and freed their descriptors. */
const EXHAUSTED_RETRY_MS = 1000;

function unanswered(reason: keyof typeof EFFECTS, detail: string, said = ''): Failure {
  return { ...replaced(reason), reason, response: null, retryAfterMs: null, detail, said };
}

/** These are about one prompt or one request: another caller's may be accepted. */
const ABOUT_THE_REQUEST = [
  'context_length',
  'request_too_large',
  'unsupported_input',
  'unsupported_feature',
  'moderation',
] as const;

const EXPLAINED = new Set<FailureReason>([...ABOUT_THE_REQUEST, 'busy', 'rate_limited', 'quota']);

/** A 4xx that may be the caller's fault or the machine's. */
export function isUnexplainedRefusal({ response, reason }: Failure): boolean {
  const status = response?.status ?? 0;
  return status >= 400 && status < 500 && !EXPLAINED.has(reason);
}

interface ErrorFacts {
  readonly called: CallFacts;
  readonly status: number;
  /** The agent, not its engine, refused the gateway's token. */
  readonly agentRefusedUs: boolean;
  readonly meaning: Meaning | null;
  readonly error: UpstreamError;
  /** A page, whose words are no diagnosis. */
  readonly isPage: boolean;
}

/** What an error response means, but for its own words and times. */
interface Judgement extends Effect {
  /** Null for `http_<status>`. */
  readonly reason: FailureReason | null;
}

const replaced = (reason: keyof typeof EFFECTS) => ({ reason, ...EFFECTS[reason] });

const byStatus = (...told: Parameters<typeof effect>) => ({ reason: null, ...effect(...told) });

function passed(reason: FailureReason | null, fallBack: FallBack): Judgement {
  return { reason, mark: 'neutral', surfaced: 'as_is', fallBack };
}

const ELSEWHERE = passed(null, 'always');
const BROKEN = byStatus('failure', 502, 'upstream_error');

/** A busy hosted API is rate limiting or broken; a busy engine of one's own is full or starting. */
const isOwnMachine = ({ upstream }: CallFacts) => upstream === 'local' || upstream === 'ondemand';

/** As in docs/reference/routing-rules.md#what-falls-back; the first that says something counts. */
function judge(facts: ErrorFacts): Judgement {
  if (facts.meaning === 'crashed') return replaced('bad_response');
  return (
    ofAccount(facts) ??
    ofRequest(facts) ??
    ofKey(facts) ??
    ofLoad(facts) ??
    ofStatus(facts) ??
    byStatus('failure', 502, 'upstream_misconfigured')
  );
}

function ofAccount(facts: ErrorFacts): Judgement | null {
  const { called, status, meaning, agentRefusedUs, error } = facts;
  if (meaning === 'quota' || (status === 402 && aboutRequest(meaning) === null))
    return called.hasCallersKey === true ? ELSEWHERE : replaced('quota');
  // Ollama, for a model of its cloud that its owner has no plan for or did not sign in for: no matter of the caller's.
  if (status === 403 && meaning === 'model_not_found') return null;
  if (error.codes.includes('signin_url')) return null;
  if (called.upstream !== 'local' || agentRefusedUs) return null;
  // The caller's own credential: falling back would spend our keys for a stranger.
  const isRefused =
    status === 401 || status === 403 || (status === 400 && meaning === 'credentials');
  return isRefused ? passed(null, 'never') : null;
}

/** Null if the meaning is about something else. */
function aboutRequest(meaning: Meaning | null): Judgement | null {
  const about = ABOUT_THE_REQUEST.find((each) => each === meaning);
  return about === undefined ? null : passed(about, 'always');
}

function ofRequest({ status, meaning, error }: ErrorFacts): Judgement | null {
  if (status === 413) return aboutRequest(meaning) ?? passed('request_too_large', 'always');
  if (status === 401 && meaning !== 'model_not_found') return null;
  // Bedrock says "too many tokens, please wait" for a rate limit.
  const isThrottled = status === 429 && meaning !== 'request_too_large';
  const about = isThrottled ? null : aboutRequest(meaning);
  if (about !== null) return about;
  if (meaning === 'model_not_found') return replaced('model_not_found');
  // 410: NVIDIA NIM, for a model that was retired (can1357/oh-my-pi#2299).
  const isMissing =
    (status === 404 || status === 410) && meaning !== 'no_endpoint' && meaning !== 'no_object';
  return isMissing && saysModel(error) ? replaced('model_not_found') : null;
}

/** A wall in front of an API answers 403 with a page, for one prompt; a key may open some models only. */
function ofKey({ status, meaning, isPage, error }: ErrorFacts): Judgement | null {
  const isRefused = status === 401 || (status === 403 && !isPage) || meaning === 'credentials';
  if (isRefused && meaning === null && saysModel(error)) return replaced('model_not_found');
  return isRefused ? replaced('credentials') : null;
}

function ofLoad(facts: ErrorFacts): Judgement | null {
  const { called, status, meaning, error } = facts;
  const isLoaded = (status === 429 || status === 503) && saysBusy(error);
  // SGLang's router, whose queue is full, says nothing; nor do the pages of nginx.
  const isBusy = meaning === 'full' || isLoaded || (status === 429 && error.message === '');
  if (isBusy && isOwnMachine(called)) return replaced('busy');
  // Groq's flex tier has a status of its own, 498 (console.groq.com/docs/errors).
  if (status === 429 || status === 498 || meaning === 'rate_limited')
    return called.hasCallersKey === true ? ELSEWHERE : replaced('rate_limited');
  return null;
}

function ofStatus(facts: ErrorFacts): Judgement | null {
  const { called, status, meaning } = facts;
  if (status >= 400 && status < 500) return ofClientStatus(facts);
  if (lacksEndpoint(facts)) return replaced('unsupported');
  // The agent answers, but its engine is down.
  if (status === 502 && called.upstream === 'local' && meaning === 'engine_gone')
    return replaced('unreachable');
  if (status === 503) return byStatus('failure', 503, 'upstream_unavailable');
  return status >= 500 ? BROKEN : null;
}

function ofClientStatus(facts: ErrorFacts): Judgement | null {
  const { status, meaning, error } = facts;
  if (status === 408) return replaced('timeout');
  // TGI, for whatever failed while it generated (router/src/server.rs); Bedrock's ModelErrorException.
  if (status === 424) return BROKEN;
  if (status === 409 || status === 423 || status === 425)
    return byStatus('neutral', 503, 'upstream_unavailable');
  // A stored response, or a file: another upstream may have it, and the route is there.
  if (status === 404 && meaning === 'no_object') return ELSEWHERE;
  if (lacksEndpoint(facts)) return replaced('unsupported');
  // MLX-LM answers 404, and words alone, to whatever fails before the first token (ml-explore/mlx-lm, server.py).
  const isInWords = error.codes.length === 0 && error.message !== '';
  if (status === 404 && meaning !== 'no_endpoint' && isInWords) return ELSEWHERE;
  return LEADS_NOWHERE.has(status) ? null : passed(null, 'once');
}

/**
 * Engines, of a history that they cannot read in the protocol of its app, as they can in a chat completion: llama.cpp
 * (Mangi-11/Eta#59), and by its place those that check it with pydantic or zod.
 */
const OF_HISTORY =
  /\b(input|messages)\b['"]?\s*(\[|[.,]\s*['"]?\w)|\bitem\b.{0,40}\btype\b|type of 'item'/i;

function lacksEndpoint(facts: ErrorFacts): boolean {
  const { called, status, meaning, error } = facts;
  const { support } = called.request.endpoint;
  if (support === 'required') return false;
  const mayReadChat = support === 'translatable' && meaning === null && isOwnMachine(called);
  if (mayReadChat && OF_HISTORY.test(`${error.param ?? ''} ${error.message}`)) return true;
  return status === 404 || status === 405 || status === 501 || meaning === 'no_endpoint';
}

/** The statuses of a wrong base URL. */
const LEADS_NOWHERE: ReadonlySet<number> = new Set([404, 405, 407, 410]);

/** Clients sleep for as long as they are told to (openai/openai-node#1840): no longer than `left_alone` lasts in memory/topics.ts. */
const MAX_WAIT_MS = 600_000;

const STARTING = ': it is starting up, which can take minutes; try again then';

function classifyStatus(
  seen: ErrorResponse,
  error: UpstreamError,
  called: CallFacts,
  nowMs: number,
): Failure {
  const { status, headers, body } = seen;
  const facts: ErrorFacts = {
    called,
    status,
    agentRefusedUs: headers['x-gateway-agent'] === 'unauthorized',
    meaning: meaningOf(error, status),
    error,
    isPage: body.length > 0 && error.message === '' && error.codes.length === 0,
  };
  const judgement = judge(facts);
  const { reason, surfaced } = judgement;
  const waitMs = retryAfterMs(headers, error, nowMs);
  // A fault of the request must not be a 5xx: the caller's client would only repeat it.
  const isTold400 = surfaced === 'as_is' && status >= 500;
  return {
    ...judgement,
    reason: reason ?? `http_${status}`,
    response: isTold400 ? writtenError(seen, 400, reason) : seen,
    retryAfterMs: waitMs === null ? null : Math.min(waitMs, MAX_WAIT_MS),
    detail: `HTTP ${status}${reason === 'busy' && saysLoading(error) ? STARTING : ''}`,
    said: error.message,
  };
}

/** Some engines append the whole prompt. */
const MAX_WRITTEN_CHARS = 500;

function writtenError(
  { error: said, headers }: Pick<ErrorResponse, 'error' | 'headers'>,
  status: number,
  reason: FailureReason | null,
): ErrorResponse {
  const { message, type, code, param } = said;
  const error = {
    message: message.slice(0, MAX_WRITTEN_CHARS),
    type: status < 500 ? 'invalid_request_error' : (type ?? 'server_error'),
    code: code === null || Number.isFinite(Number(code)) ? reason : code,
    param,
  };
  return {
    kind: 'status',
    status,
    headers: { ...headers, 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify({ error })),
    error: { ...said, ...error },
  };
}

/** The status that a refusal with this meaning has where it has one; 400 for others. */
const STATUS_OF: Readonly<Partial<Record<Meaning, number>>> = {
  request_too_large: 413,
  rate_limited: 429,
  full: 503,
  quota: 402,
  credentials: 401,
  model_not_found: 404,
  no_endpoint: 404,
  no_object: 404,
  engine_gone: 502,
  crashed: 500,
};

/** Statuses that mean something by themselves; an error behind a 200 with any other is no answer, and no more is known. */
const TELLING: ReadonlySet<number | null> = new Set([401, 402, 403, 429]);

/** An error behind a 200 that means something counts as the same error with its own status. */
function classifyErrorAnswer(seen: ErrorAnswer, called: CallFacts, nowMs: number): Failure {
  const { error } = seen;
  const meaning = meaningOf(error, 200);
  const told = TELLING.has(error.status) ? error.status : null;
  const isBusy = isOwnMachine(called) && saysBusy(error);
  const status =
    meaning === null
      ? (told ?? (isBusy ? 503 : null))
      : (error.status ?? STATUS_OF[meaning] ?? 400);
  if (status === null) return unanswered('bad_response', 'an error behind a 200', error.message);
  const failure = classifyStatus(writtenError(seen, status, null), error, called, nowMs);
  return { ...failure, detail: `${failure.detail} behind a 200` };
}

/**
 * The wait that an upstream asks for, in milliseconds; null if it names none. Reads `retry-after-ms` (OpenAI's clients
 * honour it), `Retry-After`, Google's `RetryInfo`, when a used-up limit is full again, and words.
 */
export function retryAfterMs(
  headers: ResponseHeaders,
  error: Pick<UpstreamError, 'retryAfterMs' | 'headers' | 'message'>,
  nowMs: number,
): number | null {
  return (
    durationMs(`${String(headers['retry-after-ms'])}ms`) ??
    waitIn(headers['retry-after'], nowMs) ??
    error.retryAfterMs ??
    fullAgainMs(headers, error, nowMs) ??
    saidWait(error)
  );
}

/** Proxies such as LiteLLM pass on what OpenAI, Azure or Groq said, and not their headers. */
function saidWait({ message }: Pick<UpstreamError, 'message'>): number | null {
  const [, wait = ''] =
    /\b(?:try again|retry|resets?) (?:in|after) (\d[\d.hms ]{0,20})/i.exec(message) ?? [];
  return durationMs(wait.replaceAll(/ |\.$/g, ''));
}

/** OpenAI and Groq name the limit behind it, Cerebras its time too. */
const REMAINING = 'x-ratelimit-remaining';

function fullAgainMs(
  headers: ResponseHeaders,
  { headers: repeated }: Pick<UpstreamError, 'headers'>,
  nowMs: number,
): number | null {
  const usedUp = Object.keys(headers).filter(
    (name) => name.startsWith(REMAINING) && Number(headers[name]) === 0,
  );
  const resets = usedUp.map((name) => headers[name.replace('remaining', 'reset')]);
  const waits = [...resets, repeated['X-RateLimit-Reset']].map(
    (reset) => waitIn(reset, nowMs) ?? 0,
  );
  return Math.max(0, ...waits) || null;
}

const SOME_YEARS_S = 1e8;

/** As seconds, as a date (RFC 9110, 10.2.3), as a duration, or as seconds or milliseconds since the epoch. */
function waitIn(value: unknown, nowMs: number): number | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const number = numberOf(value);
  if (number !== null && number < SOME_YEARS_S) return number >= 0 ? number * 1000 : null;
  const unitMs = (number ?? 0) < SOME_YEARS_S * 1000 ? 1000 : 1;
  const untilMs = number === null ? parseHttpDate(String(value)) : number * unitMs;
  return untilMs === null ? durationMs(value) : Math.max(0, untilMs - nowMs);
}
