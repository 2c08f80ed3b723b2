import type { UpstreamId } from '#shared/ids.ts';
import { isObject } from '#shared/objects.ts';
import type { FailureReason } from '#shared/reasons.ts';
import { parseHttpDate } from '../../platform/dates.ts';
import type { ResponseHeaders } from '../../platform/http/types.ts';
import type { UpstreamErrorCode } from '../http/errors.ts';
import { parseJson } from '../../platform/json.ts';
import { errorMessage } from './completion.ts';

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
  /** `wasSilent`: no content had arrived. */
  | { readonly kind: 'timeout'; readonly wasSilent: boolean }
  /** A response that is not an answer of the endpoint. */
  | { readonly kind: 'bad'; readonly detail: string };

export interface Failure {
  readonly reason: FailureReason;
  /** How it counts in the circuit. */
  readonly mark: 'failure' | 'neutral';
  /** The caller's error if no upstream answers; `as_is`: the upstream's own response. */
  readonly surfaced: { readonly status: number; readonly code: UpstreamErrorCode } | 'as_is';
  /** Whether another upstream is tried. */
  readonly fallBack: boolean;
  readonly response: ErrorResponse | null;
  readonly retryAfterMs: number | null;
  /** For reports and logs; codes and numbers, never text from the upstream. */
  readonly detail: string;
}

/** See docs/routing.md#what-falls-back. */
export function classify(seen: Unanswered, upstream: UpstreamId, nowMs: number): Failure {
  switch (seen.kind) {
    case 'unreachable':
      return broken('unreachable', 502, 'upstream_unreachable', seen.detail);
    case 'timeout':
      return broken('timeout', 504, 'upstream_timeout', 'no answer in time');
    case 'bad':
      return broken('bad_response', 502, 'upstream_bad_response', seen.detail);
    case 'status':
      return classifyStatus(seen, upstream, nowMs);
  }
}

function broken(
  reason: FailureReason,
  status: number,
  code: UpstreamErrorCode,
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
  row((seen) => isAny(404, 410)(seen) && seen.words.saysModel, 'model_not_found', 'neutral', [
    404,
    'model_not_found',
  ]),
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

function classifyStatus(seen: ErrorResponse, upstream: UpstreamId, nowMs: number): Failure {
  const { status, headers, body } = seen;
  const facts: ErrorFacts = {
    status,
    upstream,
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
    detail: `HTTP ${status}`,
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

/** What routing needs to know of an upstream's error body. */
interface ErrorWords {
  readonly saysQuota: boolean;
  readonly saysBusy: boolean;
  readonly saysModel: boolean;
  readonly saysContextLength: boolean;
  readonly saysUnsupportedInput: boolean;
  /** An agent could not reach its engine. */
  readonly saysEngineGone: boolean;
  /** From the part that is read. */
  readonly message: string;
}

/** Ollama's "server busy", llama-server's "Loading model", an agent's "paused", full queues. */
const BUSY =
  /busy|queue|overload|paused|draining|loading|capacity|no slot|too many (concurrent )?requests/i;
const CONTEXT_LENGTH =
  /context[ _-]?(length|window|size)|maximum context|prompt is too long|too many tokens|exceeds? the (available |maximum )?context/i;
const MODEL = /\bmodel\b/i;
/** Errors for images, audio or video at a model that only reads text. */
const UNSUPPORTED_INPUT: readonly RegExp[] = [
  // llama.cpp, 500 (seen from 0.7.0, build 11669).
  /\b(image|audio|video) input is not supported/i,
  // llama.cpp: 400 for an unknown part; 500 in versions that read text only (ggml-org/llama.cpp#12947).
  /unsupported content(\[\]\.| part )type/i,
  // vLLM, 400 (vllm-project/vllm#19144), and if `--limit-mm-per-prompt` switches a kind off.
  /is not a multimodal model/i,
  /at most 0 (image|audio|video)\(s\)/i,
  // SGLang with `--language-model-only`, 400 (srt/managers/tokenizer_manager.py); without it, the image is dropped.
  /multimodal inputs? (\(\w+\) )?(is|are) not supported/i,
  // Ollama: 500 or 400 by version (`ErrNoVisionModel` in model/model.go), and its cloud, 400 (ollama/ollama#17301).
  /missing data required for image input/i,
  // The same, and LM Studio: "Model does not support images. Please use a model that does." (lmstudio-bug-tracker#908).
  /model does not support (image|audio|video)/i,
  // OpenRouter, 404 (openclaw/openclaw#99079).
  /no endpoints found that support (image|audio|video|file) input/i,
];
/** Error messages stand at the start of the body. */
const MAX_READ_BYTES = 8192;

/** The body may be JSON of OpenAI's or of an engine's own shape, or plain text. */
function errorWords(body: Buffer): ErrorWords {
  const text = body.toString('utf8', 0, MAX_READ_BYTES);
  const parsed = body.length <= MAX_READ_BYTES ? parseJson(text) : undefined;
  const codes = isObject(parsed) ? codesOf(parsed) : [];
  const message = isObject(parsed) ? messageOf(parsed) : withoutMarkup(text);
  return {
    saysQuota: codes.includes('insufficient_quota'),
    saysBusy: BUSY.test(message) || codes.some((code) => BUSY.test(code)),
    saysModel: codes.includes('model_not_found') || MODEL.test(message),
    saysContextLength: codes.includes('context_length_exceeded') || CONTEXT_LENGTH.test(message),
    saysUnsupportedInput: UNSUPPORTED_INPUT.some((words) => words.test(message)),
    saysEngineGone: codes.includes('engine_unreachable'),
    message,
  };
}

function codesOf(parsed: Readonly<Record<string, unknown>>): string[] {
  const error = isObject(parsed['error']) ? parsed['error'] : parsed;
  return [error['code'], error['type']].filter((code) => typeof code === 'string');
}

function messageOf(parsed: Readonly<Record<string, unknown>>): string {
  const direct = [parsed['message'], parsed['detail']].find((value) => typeof value === 'string');
  return errorMessage(parsed) ?? direct ?? '';
}

/** A proxy's error page may mention a model or a queue in its boilerplate, so its text is ignored. */
function withoutMarkup(text: string): string {
  return /<html|<!doctype/i.test(text) ? '' : text;
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
