import { isObject } from '#shared/objects.ts';
import { parseJson, writeJson } from './completion.ts';

type Json = Record<string, unknown>;

/** Puts a streamed answer together to the JSON answer that the caller asked for. */
export interface Assembly {
  /** Takes one parsed chunk. */
  add(chunk: unknown): void;
  /** True once a choice has a finish reason. */
  finished(): boolean;
  /** The answer as JSON text; null where it is nested too deep to be written. */
  result(): string | null;
}

/**
 * Makes an assembly for an answer with one choice.
 * Text fields are joined, tool calls merged by index, and every other field, known or not, is taken
 * as it came last, so that an engine's own additions (`timings`, say) reach the caller.
 */
export function createAssembly(): Assembly {
  const top: Json = {};
  const message: Json = { role: 'assistant', content: null };
  const calls: CallSlot[] = [];
  const choice: Json = { index: 0 };
  let finishReason: unknown = null;

  return {
    add(chunk) {
      if (!isObject(chunk)) return;
      const { choices, ...rest } = chunk;
      takeLast(top, rest);
      if (!Array.isArray(choices)) return;
      for (const part of choices as unknown[]) {
        if (!isObject(part)) continue;
        const { delta, finish_reason: reason, index: _index, ...others } = part;
        if (reason !== null && reason !== undefined) finishReason = reason;
        takeLast(choice, others);
        if (!isObject(delta)) continue;
        const { tool_calls: pieces, ...fields } = delta;
        addFields(message, fields);
        addToolCalls(calls, pieces);
      }
    },
    finished: () => finishReason !== null,
    result: () =>
      writeJson({
        ...top,
        object: 'chat.completion',
        choices: [{ ...choice, message: withCalls(message, calls), finish_reason: finishReason }],
      }),
  };
}

/** `usage: null` on every chunk but one must not erase the one. */
function takeLast(target: Json, source: Readonly<Json>): void {
  for (const [key, value] of Object.entries(source)) {
    if (value !== null || !(key in target)) target[key] = value;
  }
}

function addFields(message: Json, delta: Readonly<Json>): void {
  for (const [key, value] of Object.entries(delta)) {
    if (value === null || value === undefined) continue;
    if (key === 'role') message[key] = value;
    else if (key === 'function_call' && isObject(value)) message[key] = joined(message[key], value);
    else if (typeof value === 'string') message[key] = joinedText(message[key], value);
    else if (Array.isArray(value))
      message[key] = [...asArray(message[key]), ...(value as unknown[])];
    else message[key] = value;
  }
}

const asArray = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

function joinedText(before: unknown, value: string): string {
  return typeof before === 'string' ? before + value : value;
}

/**
 * Arguments come in pieces; names and ids come once, and some engines repeat them.
 * What lies deeper than a call's `function` is taken as it came last.
 */
function joined(before: unknown, piece: Readonly<Json>, depth = 0): Json {
  const known = isObject(before) ? before : {};
  const merged: Json = { ...known };
  for (const [key, value] of Object.entries(piece)) {
    if (value === null || value === undefined) continue;
    if (key === 'arguments' && typeof value === 'string') {
      merged[key] = joinedText(known[key], value);
    } else if (isObject(value) && depth === 0) merged[key] = joined(known[key], value, 1);
    else if (value !== '' || !(key in known)) merged[key] = value;
  }
  return merged;
}

interface CallSlot {
  readonly index: unknown;
  call: Json;
}

function addToolCalls(slots: CallSlot[], pieces: unknown): void {
  for (const piece of asArray(pieces)) {
    if (!isObject(piece)) continue;
    // Engines that send each call whole may leave the index out: then every piece is a call.
    const { index = slots.length, ...rest } = piece;
    const slot = slots.find((known) => known.index === index);
    if (slot === undefined) slots.push({ index, call: joined({}, rest) });
    else slot.call = joined(slot.call, rest);
  }
}

function withCalls(message: Json, slots: readonly CallSlot[]): Json {
  return slots.length === 0 ? message : { ...message, tool_calls: slots.map(({ call }) => call) };
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
