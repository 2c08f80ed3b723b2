import { isDeepStrictEqual } from 'node:util';
import { isObject, listOf, memberOf } from '../../../platform/json.ts';
import {
  type CallOrder,
  callPieceOf,
  callsIn,
  createCallOrder,
  type PlacedPiece,
} from './calls.ts';
import { brokenOff, endOf } from './content.ts';

type Json = Readonly<Record<string, unknown>>;

/** Requests ask for a few; each takes memory. */
const MAX_CHOICES = 10_000;

interface Choice {
  /** Null before the first piece of a tool call. */
  order: CallOrder | null;
  isFinished: boolean;
}

/**
 * Puts right what clients stumble over in the chunks of one answer, and leaves every chunk as it is that follows the
 * format: calls that share an index or have none (see `createCallOrder`), a call without an id or with its name in a
 * later piece, arguments as an object or none at all, a repeated id or name, which clients append; finish reasons
 * that are none, unknown or said twice; an empty role; a digit as a number; no list of choices
 * (earendil-works/pi#1671, cline/cline#8527).
 */
export class ChunkRepair {
  /** How many choices have their finish reason. */
  finished = 0;
  readonly #choices = new Map<unknown, Choice>();

  /** The chunk itself where nothing was wrong; null if nothing is left of it; a text if the answer is broken. */
  take(chunk: Json): Json | string | null {
    const before = listOf(chunk['choices']);
    if (this.#choices.size + before.length > MAX_CHOICES) return 'too many choices';
    const after: unknown[] = [];
    for (const given of before) {
      const fixed = isObject(given) ? this.#repaired(given) : given;
      if (typeof fixed === 'string') return fixed;
      if (fixed !== null) after.push(fixed);
    }
    // A ping has nothing at all.
    const hasChoices = Array.isArray(chunk['choices']) || Object.keys(chunk).length === 0;
    if (areSame(after, before)) return hasChoices ? chunk : { ...chunk, choices: after };
    return after.length === 0 && !isObject(chunk['usage']) ? null : { ...chunk, choices: after };
  }

  #repaired(given: Json): Json | string | null {
    const index = given['index'] ?? 0;
    const choice: Choice = this.#choices.get(index) ?? { order: null, isFinished: false };
    this.#choices.set(index, choice);
    const wasFinished = choice.isFinished;
    const fixed = repairedChoice(given, choice);
    if (choice.isFinished && !wasFinished) this.finished += 1;
    return fixed;
  }
}

/** The last chunk of some engines has no delta, and what is missing until then goes into one. */
const NO_DELTA: Json = {};

/** As `take`, for a choice. */
function repairedChoice(given: Json, choice: Choice): Json | string | null {
  const { finish_reason: reason } = given;
  const delta = [given['delta'], deltaOf(given['message'])].find(isObject) ?? NO_DELTA;
  const end = endOf(reason);
  if (end === 'broken') return brokenOff(given);
  const isRepeated = end !== null && choice.isFinished;
  const isLast = end !== null && !isRepeated;
  const said = repairedDelta(delta, choice, isLast);
  if (typeof said === 'string') return said;
  choice.isFinished ||= isLast;
  if (isRepeated && isBlank(said) && isBlank(given['text'])) return null;
  const finish = isLast ? finishAfter(reason, choice) : null;
  const isSaid = said === NO_DELTA || said === given['delta'];
  return isSaid && (reason ?? null) === finish
    ? given
    : { ...withFinish(given, finish), ...(said !== NO_DELTA && { delta: said }) };
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
 * that it is complete, after which agents would run it or ask the same again (vllm-project/vllm#53269). Agents that go by
 * the reason ask without end after calls of which there are none (vllm-project/vllm#53255, Kilo-Org/kilocode#7773), and stop
 * at a call that is said to be the end (BerriAI/litellm#35663).
 */
function finishAfter(reason: unknown, { order }: Choice): string | null {
  const end = endOf(reason);
  if (end !== null && order?.isCut() === true) return 'length';
  if (reason === 'function_call') return reason;
  if (end === 'tool_calls' || end === 'stop') return order === null ? 'stop' : 'tool_calls';
  return end;
}

const isBlank = (value: unknown): boolean =>
  isObject(value) ? Object.values(value).every(isBlank) : isAbsent(value) || value === '';

function repairedDelta(delta: Json, choice: Choice, isLast: boolean): Json | string {
  const { role, content, tool_calls: toolCalls } = delta;
  const calls = repairedCalls(callsIn(toolCalls), choice, isLast);
  if (typeof calls === 'string') return calls;
  const hasUsualText = role !== '' && typeof content !== 'number';
  if (hasUsualText && areSame(calls, listOf(toolCalls))) return delta;
  const { role: _role, tool_calls: _calls, ...others } = delta;
  return {
    ...(role === '' || role === undefined ? {} : { role }),
    ...others,
    ...(typeof content === 'number' ? { content: String(content) } : {}),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** A text if the answer is broken. */
function repairedCalls(given: readonly Json[], choice: Choice, isLast: boolean): Json[] | string {
  const calls: Json[] = [];
  for (const call of given) {
    choice.order ??= createCallOrder();
    const piece = choice.order.take(callPieceOf(call));
    if (typeof piece === 'string') return piece;
    if (piece !== null) calls.push(rightPiece(call, piece));
  }
  const missing = isLast ? (choice.order?.end() ?? []) : [];
  return typeof missing === 'string' ? missing : [...calls, ...missing.map(emptyArguments)];
}

function rightPiece(call: Json, { place, id, isFirst, text }: PlacedPiece): Json {
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

const areSame = (some: readonly unknown[], others: readonly unknown[]): boolean =>
  some.length === others.length && some.every((each, n) => each === others[n]);

/** Clients parse the arguments of a call, which `""` is not (vercel/ai#14968). */
const emptyArguments = (index: number): Json => ({ index, function: { arguments: '{}' } });

/** As `ChunkRepair`, for a whole answer; the same object if nothing was wrong with it, or if it is broken. */
export function repairedAnswer(answer: Json): Json {
  const choices = listOf(answer['choices']).map((choice) =>
    isObject(choice) ? repairedWhole(choice) : choice,
  );
  const right = { ...answer, choices };
  return choices.length === 0 || isDeepStrictEqual(right, answer) ? answer : right;
}

function repairedWhole(choice: Json): Json {
  const fixed = repairedChoice(choice, { order: null, isFinished: false });
  if (!isObject(fixed) || !isObject(fixed['delta'])) return choice;
  const { delta, message, ...others } = fixed;
  const calls = callsIn(delta['tool_calls']).map(({ index: _index, ...call }) => call);
  return {
    ...others,
    message: {
      ...delta,
      ...(memberOf(message, 'role') === '' && { role: 'assistant' }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  };
}

/**
 * What says in a stream what a whole message does, which some put into their only chunk: its calls have an index, no
 * further arguments will come, and two with one id are two, also where they say the same.
 */
export function deltaOf(message: unknown): Json | undefined {
  if (!isObject(message)) return undefined;
  const calls = callsIn(message['tool_calls']);
  if (calls.length === 0) return message;
  const ids = new Set<string>();
  const tool_calls = calls.map((call, index) => {
    const { id, arguments: json } = callPieceOf(call);
    const isUsed = ids.has(id);
    ids.add(id);
    const args = { arguments: json.trim() === '' ? '{}' : json };
    const inner = isObject(call['function']) ? call['function'] : {};
    return { ...call, index, ...(isUsed && { id: '' }), function: { ...inner, ...args } };
  });
  return { ...message, tool_calls };
}
