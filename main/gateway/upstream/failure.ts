import type { UpstreamId } from '#shared/ids.ts';
import type { FailureReason } from '#shared/reasons.ts';
import type { ResponseHeaders } from '../../platform/http/types.ts';
import type { UpstreamErrorCode } from '../http/errors.ts';
import type { ApiEndpoint } from './endpoint.ts';
import { type ErrorWords, errorWords } from './error-words.ts';
import { parseHttpDate } from '../../platform/dates.ts';

export interface ErrorResponse {
  readonly kind: 'status';
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: Buffer;
}

/** How an attempt ended without an answer; `classify` says what that means. */
export type Unanswered =
  | ErrorResponse
  | { readonly kind: 'unreachable'; readonly detail: string }
  /** The gateway itself had no descriptor left for a connection. */
  | { readonly kind: 'exhausted'; readonly detail: string }
  /** `wasSilent`: no content had arrived. */
  | { readonly kind: 'timeout'; readonly wasSilent: boolean }
  /** A response that is not an answer of the endpoint. */
  | { readonly kind: 'bad'; readonly detail: string };

type SurfacedCode = UpstreamErrorCode | 'overloaded';

export interface Failure {
  readonly reason: FailureReason;
  /** How it counts in the circuit. */
  readonly mark: 'failure' | 'neutral';
  /** The caller's error if no upstream answers; `as_is`: the upstream's own response. */
  readonly surfaced: { readonly status: number; readonly code: SurfacedCode } | 'as_is';
  /** Whether another upstream is tried. */
  readonly fallBack: boolean;
  readonly response: ErrorResponse | null;
  readonly retryAfterMs: number | null;
  /** For reports and logs; codes and numbers, never text from the upstream. */
  readonly detail: string;
  /** The upstream's own words, empty without any; `shownError` says what of them may be shown. */
  readonly said: string;
}

/** What was called. */
export interface Called {
  readonly upstream: UpstreamId;
  readonly endpoint: Pick<ApiEndpoint, 'support'>;
}

/** See docs/routing.md#what-falls-back. */
export function classify(seen: Unanswered, called: Called, nowMs: number): Failure {
  switch (seen.kind) {
    case 'unreachable':
      return broken('unreachable', 502, 'upstream_unreachable', seen.detail);
    case 'exhausted':
      return {
        ...broken('gateway_exhausted', 503, 'overloaded', seen.detail),
        mark: 'neutral',
        retryAfterMs: EXHAUSTED_RETRY_MS,
      };
    case 'timeout':
      return broken('timeout', 504, 'upstream_timeout', 'no answer in time');
    case 'bad':
      return broken('bad_response', 502, 'upstream_bad_response', seen.detail);
    case 'status':
      return classifyStatus(seen, called, nowMs);
  }
}

/** By then some running requests have ended and freed their descriptors. */
const EXHAUSTED_RETRY_MS = 1000;

function broken(
  reason: FailureReason,
  status: number,
  code: SurfacedCode,
  detail: string,
): Failure {
  const surfaced = { status, code };
  return {
    reason,
    mark: 'failure',
    surfaced,
    fallBack: true,
    response: null,
    retryAfterMs: null,
    detail,
    said: '',
  };
}

const EXPLAINED: ReadonlySet<FailureReason> = new Set([
  'busy',
  'rate_limited',
  'quota',
  'context_length',
  'unsupported_input',
]);

/** A 4xx that may be the caller's fault or the machine's. */
export function isUnexplainedRefusal({ response, reason }: Failure): boolean {
  const status = response?.status ?? 0;
  return status >= 400 && status < 500 && !EXPLAINED.has(reason);
}

interface ErrorFacts {
  readonly status: number;
  readonly upstream: UpstreamId;
  readonly support: ApiEndpoint['support'];
  /** The agent, not its engine, refused the gateway's token. */
  readonly agentRefusedUs: boolean;
  readonly words: ErrorWords;
}

interface Row {
  readonly when: (seen: ErrorFacts) => boolean;
  /** Null: `http_<status>`. */
  readonly reason: FailureReason | null;
  readonly mark: Failure['mark'];
  readonly surfaced: Failure['surfaced'];
  readonly fallBack: boolean;
}

function row(
  when: Row['when'],
  reason: Row['reason'],
  mark: Row['mark'],
  surfaced: readonly [number, UpstreamErrorCode],
): Row {
  const [status, code] = surfaced;
  return { when, reason, mark, surfaced: { status, code }, fallBack: true };
}

function passed(when: Row['when'], reason: Row['reason'], fallBack: boolean): Row {
  return { when, reason, mark: 'neutral', surfaced: 'as_is', fallBack };
}

const isAny =
  (...statuses: readonly number[]) =>
  ({ status }: ErrorFacts) =>
    statuses.includes(status);

/** A busy hosted API is rate limiting or broken; a busy engine of one's own is full or starting. */
const isOwnMachine = ({ upstream }: ErrorFacts) => upstream === 'local' || upstream === 'ondemand';

/** As in docs/routing.md#what-falls-back; the first matching row decides. */
const ROWS: readonly Row[] = [
  row(({ status, words }) => status === 402 || words.saysQuota, 'quota', 'neutral', [
    502,
    'upstream_quota',
  ]),
  // The caller's own credential: falling back would spend our keys for a stranger.
  passed(
    (seen) => isAny(401, 403)(seen) && seen.upstream === 'local' && !seen.agentRefusedUs,
    null,
    false,
  ),
  row(isAny(401, 403), 'credentials', 'neutral', [502, 'upstream_credentials']),
  row(
    (seen) => isAny(429, 503)(seen) && isOwnMachine(seen) && seen.words.saysBusy,
    'busy',
    'neutral',
    [503, 'upstream_busy'],
  ),
  row(isAny(429), 'rate_limited', 'neutral', [429, 'upstream_rate_limited']),
  // Before the rows for 404 and 500: engines send either.
  passed(
    (seen) => isAny(400, 404, 415, 422, 500, 501)(seen) && seen.words.saysUnsupportedInput,
    'unsupported_input',
    true,
  ),
  row(isAny(408), 'timeout', 'failure', [504, 'upstream_timeout']),
  row(isAny(409, 423, 425), null, 'neutral', [503, 'upstream_unavailable']),
  row(
    (seen) =>
      (isAny(404, 410)(seen) && seen.words.saysModel) ||
      (isAny(400)(seen) && seen.words.saysModelNotFound),
    'model_not_found',
    'neutral',
    [404, 'model_not_found'],
  ),
  // A stored response, or a file: another upstream may have it, and the route is there.
  passed((seen) => isAny(404)(seen) && seen.words.saysObject, null, true),
  row(
    (seen) => seen.support !== 'required' && isAny(404, 405, 501)(seen),
    'unsupported',
    'neutral',
    [404, 'unsupported_endpoint'],
  ),
  passed((seen) => isAny(400, 413)(seen) && seen.words.saysContextLength, 'context_length', true),
  passed(isAny(400, 413, 415, 422), null, false),
  // The agent answers, but its engine is down.
  row(
    (seen) => isAny(502)(seen) && seen.upstream === 'local' && seen.words.saysEngineGone,
    'unreachable',
    'failure',
    [502, 'upstream_unreachable'],
  ),
  row(isAny(503), null, 'failure', [503, 'upstream_unavailable']),
  row(({ status }) => status >= 500, null, 'failure', [502, 'upstream_error']),
];

/** Other 404s, 405, 3xx and whatever else an endpoint should not answer. */
const OTHERWISE: Row = row(() => true, null, 'failure', [502, 'upstream_misconfigured']);

const STARTING = ': it is starting up, which can take minutes; try again then';

function classifyStatus(
  seen: ErrorResponse,
  { upstream, endpoint }: Called,
  nowMs: number,
): Failure {
  const { status, headers, body } = seen;
  const facts: ErrorFacts = {
    status,
    upstream,
    support: endpoint.support,
    agentRefusedUs: headers['x-gateway-agent'] === 'unauthorized',
    words: errorWords(body),
  };
  const { reason, mark, surfaced, fallBack } = ROWS.find((each) => each.when(facts)) ?? OTHERWISE;
  return {
    reason: reason ?? `http_${status}`,
    mark,
    surfaced,
    fallBack,
    response: reason === 'unsupported_input' ? asRequestFault(seen, facts.words.message) : seen,
    retryAfterMs: retryAfterMs(headers, nowMs),
    detail:
      reason === 'busy' && facts.words.saysLoading ? `HTTP ${status}${STARTING}` : `HTTP ${status}`,
    said: facts.words.message,
  };
}

/** A fault of the request must not be a 5xx: the caller's client would only repeat it. */
function asRequestFault(seen: ErrorResponse, text: string): ErrorResponse {
  if (seen.status < 500) return seen;
  // Some engines append the whole prompt.
  const message = text.slice(0, 500);
  const error = { message, type: 'invalid_request_error', code: 'unsupported_input', param: null };
  const headers = { ...seen.headers, 'content-type': 'application/json' };
  return { ...seen, status: 400, headers, body: Buffer.from(JSON.stringify({ error })) };
}

/**
 * The wait that an upstream asks for, in milliseconds; null if it names none.
 * Reads `retry-after-ms` (OpenAI's clients honour it) and `Retry-After` as seconds or as a date (RFC 9110, 10.2.3).
 */
export function retryAfterMs(headers: ResponseHeaders, nowMs: number): number | null {
  // An empty value would read as 0.
  const exact = Number(headers['retry-after-ms'] || Number.NaN);
  if (Number.isFinite(exact) && exact >= 0) return exact;
  const value = headers['retry-after'];
  if (typeof value !== 'string' || value.trim() === '') return null;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds * 1000 : null;
  const dateMs = parseHttpDate(value);
  return dateMs === null ? null : Math.max(0, dateMs - nowMs);
}
