import type { RequestKey } from './answers.ts';
import { type Draws, drawsFor } from './draws.ts';

/** What an upstream does with a call in place of answering it. */
export type Fault =
  | 'none'
  /** No response: the connection is reset, or nothing comes. */
  | 'reset'
  | 'hang'
  /** A head, and then the same. */
  | 'reset_after_head'
  | 'hang_after_head'
  | 'server_error'
  | 'rate_limit'
  | 'page'
  | 'empty'
  /** The answer breaks off anywhere, in the middle of a character too. */
  | 'cut'
  | 'clean_end'
  | 'silence'
  | 'error_event'
  | EventFault;

/** Those that only events can have. */
const EVENT_FAULTS = [
  /** `[DONE]` in a chat completion where no finish reason has come. */
  'done_without_finish',
  /** The same in a native stream of messages or responses; OpenAI's clients read no further. */
  'native_done',
  /** `finish_reason: ""` in all chunks but the last, as from SGLang 0.4.3 (sgl-project/sglang#3912), which may not come. */
  'reason_empty',
  /** The same with the string `null`, as from KoboldCpp (PowerShell/AIShell#350). */
  'reason_null',
  /** No fault, though it may be taken for one: the names of all calls come before the arguments of the first. */
  'calls_begin_together',
] as const;
type EventFault = (typeof EVENT_FAULTS)[number];

export const isEventFault = (fault: Fault): fault is EventFault =>
  EVENT_FAULTS.some((each) => each === fault);

/** How likely they are beside each other. */
const WEIGHTS: Readonly<Record<Exclude<Fault, 'none'>, number>> = {
  reset: 2,
  hang: 1,
  reset_after_head: 1,
  hang_after_head: 1,
  server_error: 2,
  rate_limit: 1,
  page: 1,
  empty: 1,
  cut: 4,
  clean_end: 1,
  silence: 2,
  error_event: 2,
  done_without_finish: 1,
  native_done: 1,
  reason_empty: 1,
  reason_null: 1,
  calls_begin_together: 1,
};
const FAULTS = Object.entries(WEIGHTS).flatMap(([fault, weight]) =>
  Array.from({ length: weight }, () => fault as Fault),
);

/** Requests that meet an upstream in the same state. */
export const SPELL_REQUESTS = 25;

/** An upstream is well for a while, then unsteady, and now and then mostly out, with one fault more than others. */
function weatherOf({ seed, n }: RequestKey, upstream: string) {
  const draws = drawsFor(seed, 'weather', upstream, Math.floor(n / SPELL_REQUESTS));
  const kind = draws.pick(['well', 'well', 'unsteady', 'unsteady', 'out'] as const);
  return {
    share: { well: 0.03, unsteady: 0.5, out: 0.95 }[kind],
    usual: kind === 'out' && draws.happens(0.7) ? draws.pick(FAULTS) : null,
  };
}

export function faultOf(key: RequestKey, upstream: string, call: number): Fault {
  const { share, usual } = weatherOf(key, upstream);
  const draws = drawsFor(key.seed, key.n, upstream, call, 'fault');
  if (!draws.happens(share)) return 'none';
  return usual !== null && draws.happens(0.8) ? usual : draws.pick(FAULTS);
}

/** A response that is no answer. */
export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const PAGE = '<!doctype html><html><body><h1>The model is busy</h1></body></html>';

function refusal(status: number, body: unknown, headers: Refusal['headers'] = {}): Refusal {
  return { status, headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) };
}

export const PAGE_IN_PLACE: Refusal = {
  status: 200,
  headers: { 'content-type': 'text/html' },
  body: PAGE,
};

/** As Ollama, vLLM, Anthropic and the proxies before them say it. */
export function serverError(draws: Draws): Refusal {
  const status = draws.pick([500, 500, 502, 503, 504]);
  const message = 'The server had an error.';
  return draws.pick<Refusal>([
    refusal(status, { error: { message, type: 'server_error', code: null, param: null } }),
    refusal(503, { error: { message: 'server busy, please try again' } }),
    refusal(529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    { status, headers: { 'content-type': 'text/html' }, body: PAGE },
    { status, headers: { 'content-type': 'text/plain' }, body: 'upstream connect error' },
    { status, headers: {}, body: '' },
  ]);
}

/** In the words of OpenAI, Anthropic, and Gemini, which says in the body how long to wait. */
export function rateLimit(draws: Draws): Refusal {
  const headers = draws.pick<Refusal['headers']>([
    {},
    {},
    { 'retry-after': '0' },
    { 'retry-after': '1' },
    { 'retry-after': '60' },
    { 'retry-after-ms': '40' },
  ]);
  const message = 'This would exceed the rate limit.';
  const openAi = draws.happens(0.05)
    ? {
        message: 'You exceeded your quota.',
        type: 'insufficient_quota',
        code: 'insufficient_quota',
      }
    : { message, type: 'requests', code: 'rate_limit_exceeded' };
  const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' };
  const gemini = { code: 429, message, status: 'RESOURCE_EXHAUSTED', details: [retry] };
  return draws.pick([
    refusal(429, { error: { ...openAi, param: null } }, headers),
    refusal(429, { type: 'error', error: { type: 'rate_limit_error', message } }, headers),
    refusal(429, [{ error: gemini }]),
  ]);
}

/** A body with no answer in it: nothing, comments, a role, an end. */
export function emptyBody(isStream: boolean, draws: Draws): string {
  const role = '{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}';
  const streams = [
    '',
    ': ping\n\n: ping\n\n',
    'data: [DONE]\n\n',
    `data: ${role}\n\n`,
    `data: ${role}\n\ndata: [DONE]\n\n`,
  ];
  return draws.pick(isStream ? streams : ['', ' ', '{}', '{"choices":[]}', 'null']);
}
