import { isObject } from '#shared/objects.ts';
import { createFields, createJsonText, type Fields, type FieldValue } from './assembly-fields.ts';
import { parseJson } from '../../platform/json.ts';

type Json = Record<string, unknown>;

/** Builds the whole answer that a caller asked for from the chunks of a stream. */
export interface Assembly {
  /** `chunk` is parsed JSON. */
  add(chunk: unknown): void;
  /** True once a choice has a finish reason. */
  finished(): boolean;
  /** Why no answer can be built; null while one can. */
  problem(): string | null;
  /** As JSON; null if there is a problem. */
  result(): Buffer | null;
}

/** An answer has a few dozen. Each field costs memory, however short it is. */
const MAX_FIELDS = 10_000;

/**
 * For an answer with one choice. Text fields are joined and tool calls merged by index; of every other field the
 * last value counts, so that an engine's own additions (such as `timings`) reach the caller. The work for a chunk
 * depends on its own size alone.
 */
export function createAssembly(): Assembly {
  const budget = { fields: MAX_FIELDS, isTooDeep: false };
  const top = createFields(budget);
  const choice = createFields(budget);
  const message = createFields(budget);
  /** By index, in order of arrival. */
  const calls = new Map<unknown, Fields>();
  let finishReason: unknown = null;

  choice.setLast('index', 0);
  message.setLast('role', 'assistant');
  message.setLast('content', null);

  function addToolCalls(pieces: unknown): void {
    for (const piece of asArray(pieces)) {
      if (!isObject(piece) || budget.fields === 0) continue;
      // Engines that send each call whole may omit the index: then every piece is a call.
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
      setAllLast(top, rest);
      if (!Array.isArray(choices)) return;
      for (const part of choices as unknown[]) {
        if (!isObject(part)) continue;
        const { delta, finish_reason: reason, index: _index, ...others } = part;
        if (reason !== null && reason !== undefined) finishReason = reason;
        setAllLast(choice, others);
        if (!isObject(delta)) continue;
        const { tool_calls: pieces, ...fields } = delta;
        addFields(message, fields);
        addToolCalls(pieces);
      }
    },
    finished: () => finishReason !== null,
    problem,
    result() {
      top.setLast('object', 'chat.completion');
      if (calls.size > 0) message.set('tool_calls', listField([...calls.values()]));
      choice.set('message', message);
      choice.setLast('finish_reason', finishReason);
      top.set('choices', listField([choice]));
      if (problem() !== null) return null;
      const out = createJsonText();
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

/** `usage: null` on later chunks must not erase the value. */
function setAllLast(target: Fields, source: Readonly<Json>): void {
  for (const [key, value] of Object.entries(source)) {
    if (value !== null || !target.has(key)) target.setLast(key, value);
  }
}

function addFields(message: Fields, delta: Readonly<Json>): void {
  for (const [key, value] of Object.entries(delta)) {
    if (value === null || value === undefined) continue;
    if (key === 'role') message.setLast(key, value);
    else if (key === 'function_call' && isObject(value)) merge(message.inner(key), value);
    else if (typeof value === 'string') message.addText(key, value);
    else if (Array.isArray(value)) message.addElements(key, value);
    else message.setLast(key, value);
  }
}

const asArray = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

/**
 * Arguments arrive in pieces; names and ids once, though some engines repeat them.
 * Below a call's `function` the last value counts.
 */
function merge(known: Fields, piece: Readonly<Json>, depth = 0): void {
  for (const [key, value] of Object.entries(piece)) {
    if (value === null || value === undefined) continue;
    if (key === 'arguments' && typeof value === 'string') known.addText(key, value);
    else if (isObject(value) && depth === 0) merge(known.inner(key), value, 1);
    else if (value !== '' || !known.has(key)) known.setLast(key, value);
  }
}

/** A whole JSON answer as the events of a stream with one chunk, for a caller that asked for a stream. */
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

/** Tool calls have an index in a stream only. */
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
