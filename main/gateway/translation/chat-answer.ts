import { isObject } from '#shared/objects.ts';
import { isTooDeep, listOf, memberOf } from '../../platform/json.ts';

/** A part of a chunk or of a whole completion; one chunk yields its parts in this order. */
export type AnswerDelta =
  | { readonly kind: 'reasoning' | 'text' | 'refusal'; readonly text: string }
  | { readonly kind: 'call'; readonly call: CallDelta }
  | { readonly kind: 'citation'; readonly citation: Citation };

export interface CallDelta {
  /** Identifies a call of the answer; null if each piece is a call of its own. */
  readonly index: number | string | null;
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface Citation {
  readonly url: string;
  readonly title: string;
  readonly start_index: number;
  readonly end_index: number;
}

export interface Usage {
  readonly input: number;
  /** The part of the input that was read from a cache. */
  readonly cached: number;
  readonly output: number;
  /** The part of the output that is reasoning; null if the upstream does not report it. */
  readonly reasoning: number | null;
}

export type Finish = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** `unnamed`: the engine only says that there was one. */
export type Stop =
  { readonly kind: 'named'; readonly sequence: string } | { readonly kind: 'unnamed' };

export interface AnswerPart {
  readonly deltas: readonly AnswerDelta[];
  readonly finish: Finish | null;
  /** The stop sequence that ended the answer, if the engine reports one. */
  readonly stop: Stop | null;
  readonly usage: Usage | null;
  readonly model: string | null;
}

export type ChatAnswer =
  ({ readonly kind: 'part' } & AnswerPart) | { readonly kind: 'error'; readonly message: string };

/** Reads a chunk (`choices[0].delta`) or a whole completion (`choices[0].message`). */
export function readChatAnswer(value: unknown): ChatAnswer {
  if (!isObject(value))
    return { kind: 'error', message: 'The upstream did not send a JSON object.' };
  if (isTooDeep(value))
    return { kind: 'error', message: 'The upstream nested its answer too deeply.' };
  const failure = errorText(value['error']);
  if (failure !== null) return { kind: 'error', message: failure };
  const choice = listOf(value['choices']).find(
    (each) => isObject(each) && (each['index'] ?? 0) === 0,
  );
  const reason = memberOf(choice, 'finish_reason');
  if (typeof reason === 'string' && BROKEN_OFF.has(reason)) {
    return { kind: 'error', message: `The upstream broke off its answer: ${reason}.` };
  }
  const said = memberOf(choice, 'delta') ?? memberOf(choice, 'message');
  const model = value['model'];
  return {
    kind: 'part',
    deltas: isObject(said) ? deltasOf(said) : [],
    finish: typeof reason === 'string' ? (FINISHES.get(reason) ?? 'stop') : null,
    stop: stopOf(value, choice),
    usage: usageOf(value['usage']),
    model: typeof model === 'string' && model !== '' ? model : null,
  };
}

/**
 * Which stop sequence it was is said by vLLM and TensorRT-LLM (`stop_reason`), SGLang (`matched_stop`), both with the
 * number of a token in its place, and llama.cpp where it is asked (`__verbose`); that it was one, by TGI, and by OpenRouter
 * where the provider does.
 */
function stopOf(value: unknown, choice: unknown): Stop | null {
  const sequence = [
    memberOf(choice, 'stop_reason'),
    memberOf(choice, 'matched_stop'),
    memberOf(value, '__verbose', 'stopping_word'),
  ].find((name) => typeof name === 'string' && name !== '');
  if (typeof sequence === 'string') return { kind: 'named', sequence };
  const reasons = [memberOf(choice, 'finish_reason'), memberOf(choice, 'native_finish_reason')];
  return reasons.includes('stop_sequence') ? { kind: 'unnamed' } : null;
}

/** Finish reasons of answers that the engine broke off. */
const BROKEN_OFF: ReadonlySet<string> = new Set(['error', 'abort', 'insufficient_system_resource']);

/** All other reasons mean that the model stopped by itself. */
const FINISHES: ReadonlyMap<string, Finish> = new Map([
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['content_filter', 'content_filter'],
]);

const MAX_MESSAGE_CHARS = 500;

function errorText(error: unknown): string | null {
  if (error === undefined || error === null || error === false) return null;
  const message = typeof error === 'string' ? error : memberOf(error, 'message');
  return typeof message === 'string'
    ? message.slice(0, MAX_MESSAGE_CHARS)
    : 'The upstream reported an error.';
}

function deltasOf(said: Readonly<Record<string, unknown>>): AnswerDelta[] {
  const deltas: AnswerDelta[] = [];
  const add = (kind: 'reasoning' | 'text' | 'refusal', text: unknown) => {
    if (typeof text === 'string' && text !== '') deltas.push({ kind, text });
  };
  // Some engines send the same text under both names.
  add('reasoning', said['reasoning_content'] || said['reasoning']);
  add('text', said['content']);
  for (const part of listOf(said['content'])) {
    add('text', memberOf(part, 'text'));
    for (const thought of listOf(memberOf(part, 'thinking'))) {
      add('reasoning', memberOf(thought, 'text'));
    }
  }
  for (const annotation of listOf(said['annotations'])) {
    const citation = citationOf(memberOf(annotation, 'url_citation'));
    if (citation !== null) deltas.push({ kind: 'citation', citation });
  }
  add('refusal', said['refusal']);
  for (const call of listOf(said['tool_calls'])) {
    if (isObject(call)) deltas.push({ kind: 'call', call: readCall(call) });
  }
  return deltas;
}

const stringOr = (value: unknown, other: string) => (typeof value === 'string' ? value : other);
const numberOr = (value: unknown, other: number) => (typeof value === 'number' ? value : other);

/** Reads a piece of a call. */
export function readCall(call: Readonly<Record<string, unknown>>): CallDelta {
  const { index } = call;
  return {
    index: typeof index === 'number' || typeof index === 'string' ? index : null,
    id: stringOr(call['id'], ''),
    name: stringOr(memberOf(call, 'function', 'name'), ''),
    arguments: argumentsOf(memberOf(call, 'function', 'arguments')),
  };
}

/** Some engines send an object instead of its JSON. */
function argumentsOf(value: unknown): string {
  return isObject(value) ? JSON.stringify(value) : stringOr(value, '');
}

function citationOf(value: unknown): Citation | null {
  const url = memberOf(value, 'url');
  if (typeof url !== 'string') return null;
  return {
    url,
    title: stringOr(memberOf(value, 'title'), ''),
    start_index: numberOr(memberOf(value, 'start_index'), 0),
    end_index: numberOr(memberOf(value, 'end_index'), 0),
  };
}

function usageOf(value: unknown): Usage | null {
  if (!isObject(value)) return null;
  const reasoning = memberOf(value, 'completion_tokens_details', 'reasoning_tokens');
  // The second name is DeepSeek's.
  const cached =
    memberOf(value, 'prompt_tokens_details', 'cached_tokens') ?? value['prompt_cache_hit_tokens'];
  return {
    input: numberOr(value['prompt_tokens'], 0),
    cached: numberOr(cached, 0),
    output: numberOr(value['completion_tokens'], 0),
    reasoning: typeof reasoning === 'number' ? reasoning : null,
  };
}
