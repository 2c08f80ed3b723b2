import {
  createJsonScanner,
  type JsonListener,
  type JsonPlace,
} from '../../platform/json-scanner.ts';
import { parseJson } from '../../platform/json.ts';
import { substanceOf, TEXT_FIELDS, type Substance } from './chat/content.ts';
import { endOf } from './chat/finish.ts';

/** Judges a whole answer while it arrives, without parsing it, so that its size does not matter. */
export interface AnswerScan {
  /** False once the body is not JSON. */
  push(piece: Buffer): boolean;
  /** As `substanceOf` judges the parsed answer; null if it is not JSON. */
  substance(): Substance['kind'] | null;
  /** The answer, where it was small enough to be parsed for that; else undefined. */
  value?(): unknown;
}

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const MINUS = 0x2d;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const LETTER_F = 0x66;
const LETTER_N = 0x6e;

/** V8 parses a small answer, which mostly comes in one piece, in a quarter of the time that scanning it takes. */
const MAX_PARSED_BYTES = 16 * 1024;

interface SmallAnswer {
  readonly piece: Buffer;
  readonly answer: unknown;
  readonly substance: Substance['kind'];
}

export function createAnswerScan(): AnswerScan {
  let whole: SmallAnswer | null = null;
  let scan: AnswerScan | null = null;
  return {
    push(piece) {
      if (scan === null && whole === null) {
        const answer = piece.length > MAX_PARSED_BYTES ? undefined : objectIn(piece);
        whole =
          answer === undefined ? null : { piece, answer, substance: substanceOf(answer).kind };
        if (whole !== null) return true;
      }
      scan ??= scanOf(whole);
      whole = null;
      return scan.push(piece);
    },
    substance: () => (whole === null ? (scan?.substance() ?? null) : whole.substance),
    value: () => whole?.answer,
  };
}

/** Undefined for the beginning of one. */
function objectIn(piece: Buffer): unknown {
  return piece.at(-1) === CLOSE_BRACE ? parseJson(piece.toString('utf8')) : undefined;
}

/** Continues after what looked like the whole answer. */
function scanOf(begun: { readonly piece: Buffer } | null): AnswerScan {
  const judge = new Judge();
  // Depths: the answer, its choices, a choice, its message, the message's fields.
  const scanner = createJsonScanner(judge, 5);
  if (begun !== null) scanner.push(begun.piece);
  return {
    push: (piece) => scanner.push(piece),
    substance: () => (scanner.end() ? judge.substance() : null),
  };
}

/** A choice's `delta` or `message`, as far as it was read. */
interface Body {
  isObject: boolean;
  isNull: boolean;
  /** Names of the fields with content. */
  readonly filled: Set<string>;
}

const newBody = (): Body => ({ isObject: false, isNull: true, filled: new Set() });

/** Of two members with the same name the later one counts, as in `JSON.parse`. */
class Judge implements JsonListener {
  #isObject = false;
  #hasError = false;
  #hasContent = false;
  /** Names on the path to the scanner's position, by depth; null in lists. */
  readonly #names: (string | null)[] = [];
  readonly #firsts: number[] = [];
  #isBroken = false;
  #isChoiceBroken = false;
  #delta = newBody();
  #message = newBody();

  substance(): Substance['kind'] {
    if (!this.#isObject || this.#hasError || this.#isBroken) return 'error';
    return this.#hasContent ? 'content' : 'nothing';
  }

  onBegin({ depth, name, first }: JsonPlace): void {
    this.#names[depth] = name;
    this.#firsts[depth] = first;
    if (depth === 0) this.#isObject = first === OPEN_BRACE;
    else if (depth === 1) this.#beginMember(first);
    else if (!this.#isInChoices()) return;
    else if (depth === 2) {
      this.#isChoiceBroken = false;
      this.#delta = newBody();
      this.#message = newBody();
    } else if (depth === 3) this.#beginOfChoice(first);
  }

  onEnd({ depth }: JsonPlace, _end: number, isEmpty: boolean, text: string | null): void {
    if (depth < 2 || !this.#isInChoices()) return;
    if (depth === 2) this.#endOfChoice();
    else if (this.#firsts[2] !== OPEN_BRACE) return;
    else if (depth === 3 && this.#names[3] === 'finish_reason') {
      this.#isChoiceBroken = this.#firsts[3] === QUOTE && endOf(text) === 'broken';
    } else if (depth === 4) this.#endOfField(isEmpty);
  }

  #beginMember(first: number): void {
    if (this.#names[1] === 'error') this.#hasError = first !== LETTER_N && first !== LETTER_F;
    if (this.#names[1] === 'choices') this.#hasContent = this.#isBroken = false;
  }

  #isInChoices(): boolean {
    return this.#isObject && this.#names[1] === 'choices' && this.#firsts[1] === OPEN_BRACKET;
  }

  #beginOfChoice(first: number): void {
    const body = { isObject: first === OPEN_BRACE, isNull: first === LETTER_N };
    if (this.#names[3] === 'delta') this.#delta = { ...newBody(), ...body };
    if (this.#names[3] === 'message') this.#message = { ...newBody(), ...body };
  }

  #endOfField(isEmpty: boolean): void {
    const [name, first] = [this.#names[4] ?? null, this.#firsts[4] ?? 0];
    const body = this.#names[3] === 'delta' ? this.#delta : this.#message;
    const isBody = this.#names[3] === 'delta' || this.#names[3] === 'message';
    if (!isBody || !body.isObject || name === null) return;
    if (isFilled(name, first, isEmpty)) body.filled.add(name);
    else body.filled.delete(name);
  }

  #endOfChoice(): void {
    if (this.#firsts[2] !== OPEN_BRACE) return;
    const body = this.#delta.isNull ? this.#message : this.#delta;
    this.#isBroken ||= this.#isChoiceBroken;
    this.#hasContent ||= body.isObject && body.filled.size > 0;
  }
}

function isFilled(name: string, first: number, isEmpty: boolean): boolean {
  if (TEXT_FIELDS.includes(name)) {
    const isNumber = first === MINUS || (first >= DIGIT_0 && first <= DIGIT_9);
    return isNumber || ((first === QUOTE || first === OPEN_BRACKET) && !isEmpty);
  }
  if (name === 'tool_calls') return first === OPEN_BRACE || (first === OPEN_BRACKET && !isEmpty);
  return (name === 'function_call' || name === 'audio') && first === OPEN_BRACE;
}

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
