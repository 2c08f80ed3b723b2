import { isObject } from '#shared/objects.ts';
import { parseJson } from '../../platform/json.ts';
import type { CallDelta } from './chat-answer.ts';
import { isTooDeep } from './depth.ts';
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
  /** The call of a piece, its arguments not added yet; `isNew` at its first. */
  of(delta: CallDelta): { readonly call: PartialCall; readonly isNew: boolean };
  readonly size: number;
}

/** @param exchangeId ids of calls that the upstream did not name, or named twice, are made of it */
export function createPartialCalls(exchangeId: string): PartialCalls {
  const calls = new Map<number | string | symbol, PartialCall>();
  const ids = new Set<string>();
  return {
    of({ index, id, name }) {
      const key = index ?? Symbol('call');
      const known = calls.get(key);
      if (known !== undefined) return { call: known, isNew: false };
      const unique = id === '' || ids.has(id) ? `call_${exchangeId}_${calls.size}` : id;
      ids.add(unique);
      const call = { id: unique, name, arguments: createTextBuilder(), isClosed: false };
      calls.set(key, call);
      return { call, isNew: true };
    },
    get size() {
      return calls.size;
    },
  };
}

/** The object that a call's arguments are; undefined while they are cut, or if no client could use them. */
export function argumentsObject(json: string): object | undefined {
  if (json.trim() === '') return {};
  const value = parseJson(json);
  return isObject(value) && !isTooDeep(value) ? value : undefined;
}

export const NO_NAME = 'The upstream called a tool without its name.';
export const ADDED_LATE = 'The upstream added arguments to a tool call that was complete.';
