import { isObject } from '#shared/objects.ts';
import { createFields, createGrowing, type Fields, type FieldValue } from './assembly-fields.ts';
import { parseJson } from './completion.ts';

type Json = Record<string, unknown>;

/** Puts a streamed answer together to the JSON answer that the caller asked for. */
export interface Assembly {
  /** Takes one parsed chunk. */
  add(chunk: unknown): void;
  /** True once a choice has a finish reason. */
  finished(): boolean;
  /** Why there can be no answer; null while there can. */
  problem(): string | null;
  /** The answer as JSON; null where there is a problem. */
  result(): Buffer | null;
}

/** An answer has a few dozen; each one more costs memory, however short it is. */
const MAX_FIELDS = 10_000;

/**
 * Makes an assembly for an answer with one choice.
 * Text fields are joined, tool calls merged by index, and every other field, known or not, is taken
 * as it came last, so that an engine's own additions (`timings`, say) reach the caller. A chunk costs what
 * it brings, whatever has come before it.
 */
export function createAssembly(): Assembly {
  const budget = { fields: MAX_FIELDS, isTooDeep: false };
  const top = createFields(budget);
  const choice = createFields(budget);
  const message = createFields(budget);
  /** By index, in the order in which they came. */
  const calls = new Map<unknown, Fields>();
  let finishReason: unknown = null;

  choice.takeLast('index', 0);
  message.takeLast('role', 'assistant');
  message.takeLast('content', null);

  function addToolCalls(pieces: unknown): void {
    for (const piece of asArray(pieces)) {
      if (!isObject(piece) || budget.fields === 0) continue;
      // Engines that send each call whole may leave the index out: then every piece is a call.
      const { index = calls.size, ...rest } = piece;
      let call = calls.get(index);
      if (call === undefined) {
        call = createFields(budget);
        calls.set(index, call);
        budget.fields -= 1;
      }
      merge(call, rest);
    }
  }

  function problem(): string | null {
    if (budget.isTooDeep) return 'an answer nested too deep';
    return budget.fields === 0 ? `an answer of over ${MAX_FIELDS} fields` : null;
  }

  return {
    add(chunk) {
      if (!isObject(chunk)) return;
      const { choices, ...rest } = chunk;
      takeAllLast(top, rest);
      if (!Array.isArray(choices)) return;
      for (const part of choices as unknown[]) {
        if (!isObject(part)) continue;
        const { delta, finish_reason: reason, index: _index, ...others } = part;
        if (reason !== null && reason !== undefined) finishReason = reason;
        takeAllLast(choice, others);
        if (!isObject(delta)) continue;
        const { tool_calls: pieces, ...fields } = delta;
        addFields(message, fields);
        addToolCalls(pieces);
      }
    },
    finished: () => finishReason !== null,
    problem,
    result() {
      top.takeLast('object', 'chat.completion');
      if (calls.size > 0) message.set('tool_calls', listField([...calls.values()]));
      choice.set('message', message);
      choice.takeLast('finish_reason', finishReason);
      top.set('choices', listField([choice]));
      if (problem() !== null) return null;
      const out = createGrowing();
      top.write(out);
      return out.bytes();
    },
  };
}

function listField(elements: readonly Fields[]): FieldValue {
  return {
    write(out) {
      out.add('[');
      for (const [index, element] of elements.entries()) {
        if (index > 0) out.add(',');
        element.write(out);
      }
      out.add(']');
    },
  };
}

/** `usage: null` on every chunk but one must not erase the one. */
function takeAllLast(target: Fields, source: Readonly<Json>): void {
  for (const [key, value] of Object.entries(source)) {
    if (value !== null || !target.has(key)) target.takeLast(key, value);
  }
}

function addFields(message: Fields, delta: Readonly<Json>): void {
  for (const [key, value] of Object.entries(delta)) {
    if (value === null || value === undefined) continue;
    if (key === 'role') message.takeLast(key, value);
    else if (key === 'function_call' && isObject(value)) merge(message.inner(key), value);
    else if (typeof value === 'string') message.addText(key, value);
    else if (Array.isArray(value)) message.addElements(key, value);
    else message.takeLast(key, value);
  }
}

const asArray = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

/**
 * Arguments come in pieces; names and ids come once, and some engines repeat them.
 * What lies deeper than a call's `function` is taken as it came last.
 */
function merge(known: Fields, piece: Readonly<Json>, depth = 0): void {
  for (const [key, value] of Object.entries(piece)) {
    if (value === null || value === undefined) continue;
    if (key === 'arguments' && typeof value === 'string') known.addText(key, value);
    else if (isObject(value) && depth === 0) merge(known.inner(key), value, 1);
    else if (value !== '' || !known.has(key)) known.takeLast(key, value);
  }
}

/** A whole JSON answer as the one chunk of a stream, for a caller who asked for a stream. */
export function answerAsChunk(answer: Buffer, includeUsage: boolean): string {
  const parsed = parseJson(answer.toString('utf8'));
  if (!isObject(parsed)) return '';
  const { choices, usage, ...rest } = parsed;
  const chunk = {
    ...rest,
    object: 'chat.completion.chunk',
    choices: asArray(choices).map((choice) => {
      if (!isObject(choice)) return choice;
      const { message, ...others } = choice;
      return { ...others, delta: isObject(message) ? withCallIndexes(message) : message };
    }),
  };
  const events = [
    chunk,
    ...(includeUsage ? [{ ...chunk, choices: [], usage: usage ?? null }] : []),
  ];
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('') + 'data: [DONE]\n\n';
}

/** Tool calls in a stream need an index; in a whole answer they have none. */
function withCallIndexes(message: Readonly<Json>): Json {
  const calls = message['tool_calls'];
  if (!Array.isArray(calls)) return { ...message };
  return {
    ...message,
    tool_calls: (calls as unknown[]).map((call, index) =>
      isObject(call) ? { index, ...call } : call,
    ),
  };
}
