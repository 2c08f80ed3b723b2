import type { RequestKey } from './answers.ts';
import { type Draws, drawsFor } from '../support/draws.ts';

/** What an upstream does to a call in place of answering it, or in the middle of the answer. */
const FAULTS = [
  /** The connection is reset or silent before a response, or a refusal comes, or a stream without an answer. */
  ...(['reset', 'hang', 'refusal', 'refusal', 'refusal', 'empty'] as const),
  /** The answer breaks off anywhere, in the middle of a character too. */
  ...(['cut', 'cut', 'cut', 'clean_end', 'silence', 'silence'] as const),
  /** A stream says that it has failed, or that it has ended before a finish reason has come. */
  ...(['error_event', 'error_event', 'done_without_finish'] as const),
];
export type Fault = (typeof FAULTS)[number] | 'none';

/** As many requests meet an upstream in the same state. */
export const SPELL_REQUESTS = 25;

/** An upstream is well for a while, then unsteady, and now and then mostly out, with one fault more than others. */
export function faultOf(key: RequestKey, upstream: string, call: number): Fault {
  const spell = drawsFor(key.seed, 'spell', upstream, Math.floor(key.n / SPELL_REQUESTS));
  const share = spell.pick([0.03, 0.03, 0.5, 0.5, 0.95]);
  const usual = spell.pick(FAULTS);
  const draws = drawsFor(key.seed, key.n, upstream, call, 'fault');
  if (!draws.happens(share)) return 'none';
  return share > 0.9 && draws.happens(0.6) ? usual : draws.pick(FAULTS);
}

/** A response that is no answer. */
export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const PAGE = '<!doctype html><html><body><h1>The model is busy</h1></body></html>';

function json(status: number, body: unknown, headers: Refusal['headers'] = {}): Refusal {
  return { status, headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) };
}

/** An engine that accepts no partial answer is not asked to continue one for an hour. */
export const REFUSES_PARTIAL = json(400, {
  error: { message: 'Assistant prefill is not supported.' },
});

const OPENAI_LIMIT = {
  message: 'Rate limit reached.',
  type: 'requests',
  code: 'rate_limit_exceeded',
};

/** In the words of Ollama, vLLM, OpenAI, Anthropic and the proxies before them. */
const REFUSALS: readonly Refusal[] = [
  json(500, { error: { message: 'The server had an error.', type: 'server_error', code: null } }),
  json(503, { error: { message: 'server busy, please try again' } }),
  json(529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
  { status: 502, headers: { 'content-type': 'text/html' }, body: PAGE },
  { status: 200, headers: { 'content-type': 'text/html' }, body: PAGE },
  json(429, { error: OPENAI_LIMIT }),
  json(429, { error: OPENAI_LIMIT }, { 'retry-after': '1' }),
  json(429, { type: 'error', error: { type: 'rate_limit_error', message: 'Slow down.' } }),
];

export const refusalOf = (draws: Draws): Refusal => draws.pick(REFUSALS);

const ROLE = '{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}';

/** Streams without an answer: nothing, comments, a role, an end. */
export const EMPTY_STREAMS = [
  '',
  ': ping\n\n',
  'data: [DONE]\n\n',
  `data: ${ROLE}\n\ndata: [DONE]\n\n`,
];
