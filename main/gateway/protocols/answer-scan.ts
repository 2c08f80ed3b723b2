import type { ByteBuffer } from '../../platform/byte-buffer.ts';
import { parseJson } from '../../platform/json.ts';
import { substanceOf, type Substance } from './chat/content.ts';
import { JsonScan, type Member } from './json-scan.ts';

/** Judges a whole answer of any size while it arrives. */
export interface AnswerScan {
  /** False once the body, as far as it has come, is not JSON. */
  push(body: ByteBuffer): boolean;
  /** As `substanceOf` judges the parsed answer, its whole body; null if it is not JSON. Asked at the end. */
  substance(body: Buffer): Substance['kind'] | null;
  /** The answer, where it was small enough to be parsed for that; else undefined. */
  value?(): unknown;
}

/** Small enough to be parsed in one go, whatever is in it. */
const MAX_PARSED_BYTES = 64 * 1024;

/** For chat completions. One too long to be parsed has content, unless it has no choices. */
export function createAnswerScan(): AnswerScan {
  const members = createMemberScan({ choices: LIST });
  let answer: unknown;
  return {
    push: (body) => body.length <= MAX_PARSED_BYTES || members.push(body),
    substance(body) {
      if (body.length > MAX_PARSED_BYTES) return members.substance(body);
      answer = parseJson(body.toString('utf8'));
      return answer === undefined ? null : substanceOf(answer).kind;
    },
    value: () => answer,
  };
}

/** Whether the member that makes an object an answer has the value that it should have. */
type Wanted = (first: string, member: Member) => boolean;

export const LIST: Wanted = (first, { last }) => first === '[' && last !== null;
export const ANY_LIST: Wanted = (first) => first === '[';
export const TEXT: Wanted = (first) => first === '"';
export const NUMBER: Wanted = (first) => /\d/.test(first);

/**
 * Takes an object for an answer by one of its outermost members, without parsing it: an answer has one of the
 * `wanted` members, and no error.
 */
export function createMemberScan(wanted: Readonly<Record<string, Wanted>>): AnswerScan {
  const scan = new JsonScan('object');
  return {
    push: (body) => scan.push(body.view()),
    substance(body) {
      const found = scan.end(body);
      if (found.kind === 'other') return 'error';
      if (found.kind !== 'object') return null;
      // The last of duplicate names counts, as in `JSON.parse`.
      const has = (name: string, is: Wanted) => {
        const member = found.members.findLast(({ key }) => key === name);
        return member !== undefined && is(String.fromCharCode(body[member.start] ?? 0), member);
      };
      // `null` and `false` are no errors.
      if (has('error', (first) => first !== 'n' && first !== 'f')) return 'error';
      return Object.entries(wanted).some(([name, is]) => has(name, is)) ? 'content' : 'nothing';
    },
  };
}

/** For an endpoint that answers no JSON. */
export function createNoScan(): AnswerScan {
  return { push: () => true, substance: () => 'error' };
}
