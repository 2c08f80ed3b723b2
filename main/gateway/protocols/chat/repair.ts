import { isDeepStrictEqual } from 'node:util';
import { isObject, listOf } from '../../../platform/json.ts';
import { type CallOrder, callPieceOf, callsIn, createCallOrder } from './calls.ts';
import { endOf } from './content.ts';

type Json = Readonly<Record<string, unknown>>;

const MIXED_UP = 'tool calls that cannot be told apart';
const TOO_MANY = 'too many tool calls or choices';

/** Requests ask for a few; each takes memory. */
const MAX_CALLS = 10_000;
const MAX_CHOICES = 10_000;

interface Call {
  hasName: boolean;
  hasArguments: boolean;
  /** Arguments that came before the name. */
  early: string;
}

interface Choice {
  /** Null before its first call. */
  order: CallOrder | null;
  readonly calls: Call[];
  isFinished: boolean;
}

/**
 * Puts right what clients stumble over in the chunks of one answer, and leaves every chunk as it is that follows the
 * format: calls that share an index or have none (see `createCallOrder`), a call without an id or with its name in a
 * later piece, arguments as an object or none at all, a repeated id or name, which clients append; finish reasons
 * that are none, unknown or said twice; an empty role; a digit as a number.
 */
export class ChunkRepair {
  /** How many choices have their finish reason. */
  finished = 0;
  readonly #choices = new Map<unknown, Choice>();

  /** The chunk itself where nothing was wrong; null if nothing is left of it; a text if the answer is broken. */
  take(chunk: Json): Json | string | null {
    const before = listOf(chunk['choices']);
    if (this.#choices.size + before.length > MAX_CHOICES) return TOO_MANY;
    // Written only from the first change on.
    let after: unknown[] | null = null;
    for (let index = 0; index < before.length; index += 1) {
      const given = before[index];
      const fixed = isObject(given) ? this.#repaired(given) : given;
      if (typeof fixed === 'string') return fixed;
      if (fixed !== given || fixed === null) after ??= before.slice(0, index);
      if (fixed !== null) after?.push(fixed);
    }
    if (after === null) return chunk;
    return after.length === 0 && !isObject(chunk['usage']) ? null : { ...chunk, choices: after };
  }

  #repaired(given: Json): Json | string | null {
    const index = given['index'] ?? 0;
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      choice = { order: null, calls: [], isFinished: false };
      this.#choices.set(index, choice);
    }
    const wasFinished = choice.isFinished;
    const fixed = repairedChoice(given, choice);
    if (choice.isFinished && !wasFinished) this.finished += 1;
    return fixed;
  }
}

/** As `take`, for a choice. */
function repairedChoice(given: Json, choice: Choice): Json | string | null {
  const { message, finish_reason: reason } = given;
  // Some put a whole message into their only chunk.
  const delta = isObject(given['delta']) ? given['delta'] : message;
  const end = endOf(reason);
  if (end === 'broken') return `the upstream broke off its answer: ${String(reason)}`;
  const isRepeated = end !== null && choice.isFinished;
  const isLast = end !== null && !isRepeated;
  const said = isObject(delta) ? repairedDelta(delta, choice, isLast) : delta;
  if (typeof said === 'string') return said;
  choice.isFinished ||= isLast;
  if (isRepeated && isBlank(said) && isBlank(given['text'])) return null;
  const finish = isLast ? finishAfter(reason, choice.order) : null;
  return said === delta && (reason ?? null) === finish
    ? given
    : { ...withFinish(given, finish), delta: said };
}

/** With the engine's own word for a stop sequence under OpenRouter's name: translations tell it. */
function withFinish(choice: Json, finish: string | null): Json {
  const own = choice['finish_reason'] === 'stop_sequence' && {
    native_finish_reason: 'stop_sequence',
  };
  return { ...choice, ...own, finish_reason: finish };
}

/**
 * The reason as clients know it; null while the answer goes on. vLLM says of a streamed call that its token limit cut off
 * that it is complete, after which agents would run it or ask the same again (vllm-project/vllm#53269). Who gave up keeps
 * its own word for it.
 */
function finishAfter(reason: unknown, order: CallOrder | null): string | null {
  const end = endOf(reason);
  if (end === 'broken') return String(reason);
  if (end !== null && order?.isCut() === true) return 'length';
  return reason === 'function_call' ? reason : end;
}

const isBlank = (value: unknown): boolean =>
  isObject(value) ? Object.values(value).every(isBlank) : isAbsent(value) || value === '';

function repairedDelta(delta: Json, choice: Choice, isLast: boolean): Json | string {
  const { role, content, tool_calls: toolCalls } = delta;
  if (choice.order === null && isTextAlone(delta)) return delta;
  const given = callsIn(toolCalls);
  const calls: unknown[] = [];
  for (const call of given) {
    const fixed = repairedCall(call, choice);
    if (typeof fixed === 'string') return fixed;
    if (fixed !== null) calls.push(fixed);
  }
  if (isLast && choice.calls.some(({ hasName }) => !hasName)) return 'a tool call without a name';
  if (isLast) calls.push(...withoutArguments(choice));
  const isUsual =
    calls.length === listOf(toolCalls).length && calls.every((call, n) => call === given[n]);
  if (isUsual && hasUsualText(delta)) return delta;
  const { role: _role, tool_calls: _calls, ...others } = delta;
  return {
    ...(role === '' || role === undefined ? {} : { role }),
    ...others,
    ...(typeof content === 'number' ? { content: String(content) } : {}),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

const hasUsualText = ({ role, content }: Json): boolean =>
  role !== '' && typeof content !== 'number';

/** As most deltas are. */
const isTextAlone = (delta: Json): boolean => hasUsualText(delta) && isAbsent(delta['tool_calls']);

/** As `take`, for a call. */
function repairedCall(call: Json, choice: Choice): Json | string | null {
  const { calls } = choice;
  const piece = callPieceOf(call);
  choice.order ??= createCallOrder();
  const at = choice.order.placeOf(piece);
  if (at === 'mixed up') return MIXED_UP;
  if (at === 'repeated') return null;
  if (at.place >= MAX_CALLS) return TOO_MANY;
  const known = (calls[at.place] ??= { hasName: false, hasArguments: false, early: '' });
  const isFirst = !known.hasName;
  if (isFirst && piece.name === '') {
    known.early += piece.arguments;
    return null;
  }
  known.hasName = true;
  const text = known.early + piece.arguments;
  known.early = '';
  known.hasArguments ||= text !== '';
  return rightPiece(call, { place: at.place, id: at.id, isFirst, text });
}

interface Piece {
  readonly place: number;
  readonly id: string;
  readonly isFirst: boolean;
  readonly text: string;
}

function rightPiece(call: Json, { place, id, isFirst, text }: Piece): Json {
  const inner = isObject(call['function']) ? call['function'] : {};
  // Id and name come once, with the first piece; arguments as text.
  const isNamed = isFirst ? call['id'] === id : isAbsent(call['id']) && isAbsent(inner['name']);
  if (isNamed && call['index'] === place && (inner['arguments'] ?? '') === text) return call;
  const { id: _id, index: _index, type: _type, function: _function, ...others } = call;
  const { name, arguments: _arguments, ...more } = inner;
  return {
    index: place,
    ...(isFirst ? { id, type: 'function' } : {}),
    function: { ...(isFirst ? { name } : {}), ...more, arguments: text },
    ...others,
  };
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

/** Clients parse the arguments of a call, which `""` is not (vercel/ai#14968). */
function withoutArguments({ calls }: Choice): readonly Json[] {
  return [...calls.entries()]
    .filter(([, { hasName, hasArguments }]) => hasName && !hasArguments)
    .map(([index]) => ({ index, function: { arguments: '{}' } }));
}

/** As `ChunkRepair`, for a whole answer; the same object if nothing was wrong with it. */
export function repairedAnswer(answer: Json): Json {
  const choices = listOf(answer['choices']).map((choice) =>
    isObject(choice) ? repairedWhole(choice) : choice,
  );
  const right = { ...answer, choices };
  return choices.length === 0 || isDeepStrictEqual(right, answer) ? answer : right;
}

function repairedWhole(choice: Json): Json {
  const { message, finish_reason: reason } = choice;
  const order = createCallOrder();
  const said = isObject(message) ? repairedMessage(message, order) : message;
  return { ...withFinish(choice, finishAfter(reason, order)), message: said };
}

function repairedMessage(message: Json, order: CallOrder): Json {
  const { role, content, tool_calls: toolCalls } = message;
  const calls = callsIn(toolCalls).flatMap((call, index) => repairedWholeCall(call, index, order));
  return {
    ...message,
    ...(role === '' && { role: 'assistant' }),
    ...(typeof content === 'number' && { content: String(content) }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** None for one that is told again, or that has neither a name nor an id of its own. */
function repairedWholeCall(call: Json, index: number, order: CallOrder): readonly Json[] {
  const piece = { ...callPieceOf(call), index };
  const at = order.placeOf(piece);
  if (typeof at === 'string') return [];
  const inner = isObject(call['function']) ? call['function'] : {};
  const args = piece.arguments.trim() === '' ? '{}' : piece.arguments;
  return [{ ...call, id: at.id, function: { ...inner, arguments: args } }];
}
