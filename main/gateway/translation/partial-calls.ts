import { isObject } from '#shared/objects.ts';
import { isTooDeep, parseJson } from '../../platform/json.ts';
import type { CallDelta } from './chat-answer.ts';
import { createTextBuilder, type TextBuilder } from './text-builder.ts';

/** A tool call that arrives in pieces. */
export interface PartialCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: TextBuilder;
  isClosed: boolean;
}

/** The tool calls of an answer, told apart by the upstream's index. */
export interface PartialCalls {
  add(delta: CallDelta): AddedPiece;
  readonly size: number;
}

interface AddedPiece {
  readonly call: PartialCall;
  /** Whether this is the call's first piece. */
  readonly isNew: boolean;
  /** What the piece adds to the arguments. */
  readonly added: string;
  /** The reason to fail the answer, or null. */
  readonly problem: string | null;
}

const NO_NAME = 'The upstream called a tool without its name.';
const ADDED_LATE = 'The upstream added arguments to a tool call that was complete.';

/** @param exchangeId used for the ids of calls to which the upstream gave no id, or one that it used before */
export function createPartialCalls(exchangeId: string): PartialCalls {
  const calls = new Map<number | string | symbol, PartialCall>();
  const ids = new Set<string>();

  function begin(key: number | string | symbol, { id, name }: CallDelta): PartialCall {
    const unique = id === '' || ids.has(id) ? `call_${exchangeId}_${calls.size}` : id;
    ids.add(unique);
    const call = { id: unique, name, arguments: createTextBuilder(), isClosed: false };
    calls.set(key, call);
    return call;
  }

  return {
    add(delta) {
      const key = delta.index ?? Symbol('call');
      const known = calls.get(key);
      const isNew = known === undefined;
      const call = known ?? begin(key, delta);
      if (call.isClosed) {
        // Whitespace may follow the end of a JSON text.
        const problem = delta.arguments.trim() === '' ? null : ADDED_LATE;
        return { call, isNew, added: '', problem };
      }
      call.arguments.add(delta.arguments);
      const problem = isNew && call.name === '' ? NO_NAME : null;
      return { call, isNew, added: delta.arguments, problem };
    },
    get size() {
      return calls.size;
    },
  };
}

/** A call's arguments as an object; undefined if they are incomplete, or if no client could use them. */
export function argumentsObject(json: string): object | undefined {
  if (json.trim() === '') return {};
  const value = parseJson(json);
  return isObject(value) && !isTooDeep(value) ? value : undefined;
}
