import type { ByteBuffer } from '../../platform/byte-buffer.ts';
import { createJsonScanner, type JsonListener } from '../../platform/json-scanner.ts';
import { parseJson } from '../../platform/json.ts';
import { substanceOf, type Substance } from './chat/content.ts';

/** Judges a whole answer of any size while it arrives. */
export interface AnswerScan {
  /** False once the body is not JSON. `body`: all of it that has come, this piece included. */
  push(piece: Buffer, body: ByteBuffer): boolean;
  /** As `substanceOf` judges the parsed answer, its whole body; null if it is not JSON. Asked at the end. */
  substance(body: Buffer): Substance['kind'] | null;
  /** The answer, where it was small enough to be parsed for that; else undefined. */
  value?(): unknown;
}

/** Small enough to be parsed in one go, whatever is in it. */
const MAX_PARSED_BYTES = 64 * 1024;

/** For chat completions. One too long to be parsed has content, unless it has no choices. */
export function createAnswerScan(): AnswerScan {
  let scan: AnswerScan | null = null;
  let answer: unknown;
  return {
    push(piece, body) {
      if (scan !== null) return scan.push(piece, body);
      if (body.length <= MAX_PARSED_BYTES) return true;
      scan = createMemberScan({ choices: LIST });
      return scan.push(body.view(), body);
    },
    substance(body) {
      if (scan !== null) return scan.substance(body);
      answer = parseJson(body.toString('utf8'));
      return answer === undefined ? null : substanceOf(answer).kind;
    },
    value: () => answer,
  };
}

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
  const found = new Set<string>();
  const listener: JsonListener = {
    onEnd({ depth, name, first }, _end, isEmpty) {
      if (depth === 0) isObject = first === OPEN_BRACE;
      if (depth !== 1 || name === null) return;
      if (name === 'error') hasError = first !== LETTER_N && first !== LETTER_F;
      const want = Object.hasOwn(wanted, name) ? wanted[name] : undefined;
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
