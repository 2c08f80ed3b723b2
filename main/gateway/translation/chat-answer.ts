import { isObject } from '#shared/objects.ts';
import { isTooDeep, listOf, memberOf } from '../../platform/json.ts';
import { tokenCounts } from './token-counts.ts';

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

export interface AnswerPart {
  readonly deltas: readonly AnswerDelta[];
  readonly finish: Finish | null;
  /** The stop sequence that ended the answer, if the engine reports one. */
  readonly stopSequence: string | null;
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
  const stopSequence = memberOf(choice, 'stop_reason');
  const model = value['model'];
  return {
    kind: 'part',
    deltas: isObject(said) ? deltasOf(said) : [],
    finish: typeof reason === 'string' ? (FINISHES.get(reason) ?? 'stop') : null,
    stopSequence: typeof stopSequence === 'string' ? stopSequence : null,
    usage: usageOf(value, choice),
    model: typeof model === 'string' && model !== '' ? model : null,
  };
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
    if (isObject(call)) deltas.push({ kind: 'call', call: callOf(call) });
  }
  return deltas;
}

const stringOr = (value: unknown, other: string) => (typeof value === 'string' ? value : other);
const numberOr = (value: unknown, other: number) => (typeof value === 'number' ? value : other);

function callOf(call: Readonly<Record<string, unknown>>): CallDelta {
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

/** Moonshot puts it into the last choice (earendil-works/pi#2017). */
function usageOf(value: Readonly<Record<string, unknown>>, choice: unknown): Usage | null {
  const counts = tokenCounts(value['usage']) ?? tokenCounts(memberOf(choice, 'usage'));
  if (counts === null) return null;
  const { input = 0, cached = 0, output = 0, reasoning = null } = counts;
  return { input, cached, output, reasoning };
}
