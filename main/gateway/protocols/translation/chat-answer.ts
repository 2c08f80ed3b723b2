import { isObject, isTooDeep, listOf, memberOf } from '../../../platform/json.ts';
import { type CallPiece, callPieceOf } from '../chat/calls.ts';
import { callsIn, type Finish, brokenOff, endOf } from '../chat/chunks.ts';
import { type TokenCounts, tokenCounts } from '../tokens.ts';

/** A part of a chunk, which yields its parts in this order. */
export type AnswerDelta =
  | { readonly kind: 'reasoning' | 'text' | 'refusal'; readonly text: string }
  | { readonly kind: 'call'; readonly call: CallPiece }
  | { readonly kind: 'citation'; readonly citation: Citation };

export interface Citation {
  readonly url: string;
  readonly title: string;
  readonly start_index: number;
  readonly end_index: number;
}

/** What an answer says beside its deltas. */
export interface AnswerState {
  readonly model: string | null;
  readonly finish: Finish | null;
  /** The stop sequence that ended it, null where the engine only says that there was one. */
  readonly stop: Stop | null;
  readonly usage: TokenCounts | null;
}

export interface Stop {
  readonly sequence: string | null;
}

interface AnswerPart extends AnswerState {
  readonly deltas: readonly AnswerDelta[];
}

/** Reads a chunk that was put right, and is no error. A text is the reason to fail the answer. */
export function readChatAnswer(value: unknown): AnswerPart | string {
  if (!isObject(value)) return 'The upstream did not send a JSON object.';
  if (isTooDeep(value)) return 'The upstream nested its answer too deeply.';
  const choice = listOf(value['choices']).find(
    (each) => isObject(each) && (each['index'] ?? 0) === 0,
  );
  const finish = endOf(memberOf(choice, 'finish_reason'));
  if (finish === 'broken') return brokenOff(choice);
  const said = memberOf(choice, 'delta');
  const model = value['model'];
  return {
    deltas: isObject(said) ? deltasOf(said) : [],
    finish,
    stop: stopOf(value, choice),
    // Moonshot puts it into the last choice (earendil-works/pi#2017).
    usage: tokenCounts(value['usage']) ?? tokenCounts(memberOf(choice, 'usage')),
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
  if (typeof sequence === 'string') return { sequence };
  const reasons = [memberOf(choice, 'finish_reason'), memberOf(choice, 'native_finish_reason')];
  return reasons.includes('stop_sequence') ? { sequence: null } : null;
}

function deltasOf(said: Readonly<Record<string, unknown>>): AnswerDelta[] {
  const deltas: AnswerDelta[] = [];
  const add = (kind: 'reasoning' | 'text' | 'refusal', text: unknown) => {
    if (typeof text === 'string' && text !== '') deltas.push({ kind, text });
  };
  // Some engines send the same text under both names.
  add('reasoning', said['reasoning_content'] || said['reasoning'] || said['reasoning_text']);
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
  for (const call of callsIn(said['tool_calls']))
    deltas.push({ kind: 'call', call: callPieceOf(call) });
  return deltas;
}

const stringOr = (value: unknown, other: string) => (typeof value === 'string' ? value : other);
const numberOr = (value: unknown, other: number) => (typeof value === 'number' ? value : other);

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
