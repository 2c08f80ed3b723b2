import { createJsonScanner, type JsonListener } from '../../platform/json-scanner.ts';
import type { AnswerScan } from './answer-scan.ts';

const OPEN_BRACE = 0x7b;
const LETTER_F = 0x66;
const LETTER_N = 0x6e;

/** The kind of value that makes an object an answer, by its first byte, and whether it may be empty. */
interface Wanted {
  readonly first: RegExp;
  readonly mayBeEmpty: boolean;
}

export const LIST: Wanted = { first: /\[/, mayBeEmpty: false };
export const ANY_LIST: Wanted = { first: /\[/, mayBeEmpty: true };
export const TEXT: Wanted = { first: /"/, mayBeEmpty: true };
export const NUMBER: Wanted = { first: /\d/, mayBeEmpty: true };

/**
 * Takes an object for an answer by one of its outermost members, without parsing it: an answer has one of the
 * `wanted` members, and no error.
 */
export function createMemberScan(wanted: Readonly<Record<string, Wanted>>): AnswerScan {
  let isObject = false;
  let hasError = false;
  let name = '';
  let first = 0;
  const found = new Set<string>();
  const listener: JsonListener = {
    onName(depth, text) {
      if (depth === 1) name = text ?? '';
    },
    onBegin(depth, byte) {
      if (depth === 0) isObject = byte === OPEN_BRACE;
      if (depth !== 1) return;
      first = byte;
      if (name === 'error') hasError = byte !== LETTER_N && byte !== LETTER_F;
    },
    onEnd(depth, _end, isEmpty) {
      const want = depth === 1 && Object.hasOwn(wanted, name) ? wanted[name] : undefined;
      if (want === undefined) return;
      const isAnswer = want.first.test(String.fromCharCode(first)) && (want.mayBeEmpty || !isEmpty);
      if (isAnswer) found.add(name);
      else found.delete(name);
    },
  };
  const scanner = createJsonScanner(listener, 2);
  return {
    push: (piece) => scanner.push(piece),
    substance() {
      if (!scanner.end()) return null;
      if (!isObject || hasError) return 'error';
      return found.size > 0 ? 'content' : 'nothing';
    },
  };
}

/** For an endpoint that answers no JSON. */
export function createNoScan(): AnswerScan {
  return { push: () => true, substance: () => 'error' };
}
