import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { addHop } from '../../main/gateway/api/server.ts';
import { CHAT_COMPLETIONS } from '../../main/gateway/protocols/chat/endpoint.ts';
import { formRequest } from '../../main/gateway/protocols/chat-request.ts';
import { LeakGate } from '../../main/gateway/protocols/rescue/rescue.ts';
import { readErrorBody, shownWords } from '../../main/gateway/protocols/upstream-error.ts';
import { retryAfterMs } from '../../main/gateway/upstream/failure.ts';
import { meaningOf } from '../../main/gateway/upstream/refusals.ts';
import { parseHttpDate } from '../../main/platform/clock.ts';

/*
 * Whoever can send a text must not be able to stop the gateway with it: the time of every search grows with the length of
 * the text, and not with its square. The thread's own time counts, which other programs do not take.
 */

const SHORT = 2000;
/** Eight times the length takes eight times the time, or 64 times if it grows with the square. */
const FACTOR = 8;
const MAX_RATIO = 24;
/** A search that takes less is no harm at this length, and its ratio is noise. */
const HARMLESS_MS = 10;

/** How often as long a text of `FACTOR` times the length takes; 0 if it takes next to nothing. */
function ratioOf(search: (text: string) => unknown, textOf: (length: number) => string): number {
  const long = textOf(FACTOR * SHORT);
  if (onceMs(search, long) < HARMLESS_MS) return 0;
  const longMs = fastestMs(search, long);
  if (longMs < HARMLESS_MS) return 0;
  return longMs / Math.max(fastestMs(search, textOf(SHORT)), 0.01);
}

function fastestMs(search: (text: string) => unknown, text: string): number {
  return Math.min(...[1, 2, 3].map(() => onceMs(search, text)));
}

function onceMs(search: (text: string) => unknown, text: string): number {
  const from = process.threadCpuUsage();
  search(text);
  return process.threadCpuUsage(from).user / 1000;
}

const repeated = (unit: string) => (length: number) => unit.repeat(length / unit.length);

/** Of rooms that read what callers, upstreams, machines and engines send. */
const ROOMS = 'main/{gateway,platform,registry,engines,agent/server,agent/registration}/**/*.ts';
const EXPRESSION =
  /(?<=(?:[(,=:[!&|?;{>]|return)\s*)\/(?![*/])((?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([dgimsuvy]*)/g;

/** Characters that an expression names one after the other, with blanks between them. */
function wordsOf(source: string): readonly string[] {
  const words = source.match(/(?:[\w :"'=<>,@%&;-]|\\[{}()[\].*+?|/$^])+/g) ?? [];
  return words.map((word) => word.replaceAll('\\', ''));
}

const UNITS = ['\r\n', 'a ', ':0', ...Array.from(' \t\na0.,:/-"{[')];

function slowTexts(source: string, flags: string): readonly string[] {
  const expression = compiled(source, flags);
  if (expression === null) return [];
  const search = (text: string) => expression.test(text);
  const words = wordsOf(source);
  const units = new Set([...UNITS, ...words, ...words.map((word) => `\n${word}`)]);
  const heads = ['', words.join(''), words[0] ?? ''];
  const texts = [...units].flatMap((unit) => heads.map((head) => [head, unit] as const));
  const textOf = (head: string, unit: string) => (n: number) => `${head}${repeated(unit)(n)}\0\n\0`;
  return texts
    .filter(([head, unit]) => ratioOf(search, textOf(head, unit)) > MAX_RATIO)
    .map(([head, unit]) => JSON.stringify([head, unit]));
}

/** Null for what only looks like an expression, in a comment or a text. A sticky one is tried at one place alone. */
function compiled(source: string, flags: string): RegExp | null {
  try {
    return new RegExp(source, flags.replace('g', ''));
  } catch {
    return null;
  }
}

test('of each expression in the rooms that read what comes from outside', () => {
  const slow = globSync(ROOMS).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(EXPRESSION)].flatMap(([, source = '', flags = '']) => {
      const texts = slowTexts(source, flags);
      return texts.length === 0 ? [] : [{ file, source, texts }];
    }),
  );
  expect(slow).toEqual([]);
}, 120_000);

const headers = (name: string) => (text: string) => addHop({ [name]: text }, 'me');
const NO_ERROR = { retryAfterMs: null, headers: {}, message: '' };
const waits = (name: string) => (text: string) => retryAfterMs({ [name]: text }, NO_ERROR, 0);
const offered = new Map([['f', {}]]);
const leaks = (text: string) => {
  const gate = new LeakGate(() => offered);
  // In pieces, as a stream brings it.
  for (const piece of text.match(/[^]{1,40}/g) ?? []) gate.push(piece);
  gate.end('');
};
const LINE = '\r\ncontent-disposition: form-data; name="model"';
/** As much as is searched: of less, the square is no harm yet. */
const inForm = (text: string) => formRequest(Buffer.from(text.repeat(4)), CHAT_COMPLETIONS, '');

test.each<[name: string, search: (text: string) => unknown, texts: readonly string[]]>([
  ['the gateways passed through', headers('x-gateway-hops'), [' ', '\t', ',', ' ,']],
  ['a field of a form', inForm, [LINE, `${LINE}\r\nx`]],
  ['an error of an upstream', (text) => readErrorBody(Buffer.from(text)), [' ', '<', '<a', '{']],
  ['a wait in a header', waits('retry-after'), ['1m', '1', '1.']],
  ['the reset of a limit', waits('x-ratelimit-remaining'), ['0', ' ']],
  [
    'the words of a refusal',
    (text) => meaningOf({ ...readErrorBody(Buffer.of()), message: text }, 400),
    ['model ', 'max ', 'no api ', 'limit: 1 requested: '],
  ],
  ['words that are shown', shownWords, [' ', 'key-', 'token ']],
  [
    'the calls in a text of a model',
    leaks,
    [
      '<tool_call>',
      '<function=f>',
      '<parameter=',
      '<parameter=a>b',
      '[TOOL_CALLS] ',
      '{"name":"f"',
    ],
  ],
  ['a date', parseHttpDate, ['Sun ', '00:']],
])('%s', (_name, search, units) => {
  const slow = units.filter((unit) => ratioOf(search, (n) => `a${repeated(unit)(n)}b`) > MAX_RATIO);
  expect(slow).toEqual([]);
});
