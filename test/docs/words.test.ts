import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** Words by which a text reads as translated, with what a native writer would use. */
const INSTEAD: Readonly<Record<string, string>> = {
  beside: 'next to, as well as, during',
  anew: 'again',
  dear: 'costly, expensive',
  'in vain': 'needlessly',
  whoever: 'anyone who, the caller',
  'told of': 'reported, shown',
  'passed over': 'skipped',
  withstood: 'held',
  mend: 'fix',
  'time-out': 'timeout',
};

/** The same in running text, where short names of tests may be more relaxed. */
const INSTEAD_IN_TEXT: Readonly<Record<string, string>> = {
  ...INSTEAD,
  'is told': 'reports, shows',
  'are told': 'report, show',
  'was told': 'was set, was asked',
  'goes on': 'continues',
  'goes by': 'depends on, uses',
  'given up': 'aborted, timed out',
  'all the same': 'anyway',
  besides: 'in addition, also',
  'in force': 'in effect',
  'put right': 'repaired',
  'hears of': 'learns',
  nobody: 'no one, no upstream',
  somebody: 'someone, a caller',
  law: 'rule, test',
  laws: 'rules, tests',
  wish: 'choice, preference',
  wishes: 'wants',
  'the line to join': 'the join command',
};

const patternOf = (words: Readonly<Record<string, string>>) =>
  new RegExp(String.raw`\b(${Object.keys(words).join('|')})\b`, 'i');

const IN_NAMES = patternOf(INSTEAD);
const IN_TEXT = patternOf(INSTEAD_IN_TEXT);

/** Lines with such a word, and what to write. */
function found(path: string, lines: readonly string[], pattern = IN_TEXT): readonly string[] {
  return lines.flatMap((line) => {
    const word = pattern.exec(line)?.[0].toLowerCase();
    return word === undefined
      ? []
      : [`${path}: ${line.trim().slice(0, 80)} (${word}: ${INSTEAD_IN_TEXT[word] ?? ''})`];
  });
}

const PAGES = globSync(
  ['*.md', 'docs/**/*.md', 'deploy/**/*.{yaml,yml,json}', 'deploy/Containerfile'],
  { cwd: ROOT, exclude: ['**/node_modules/**'] },
);

test.each(PAGES)('%s uses plain words', (path) => {
  expect(found(path, read(path).split('\n'))).toEqual([]);
});

test('messages and labels use plain words', () => {
  const files = globSync('{main,shared,renderer}/**/*.{ts,tsx}', { cwd: ROOT });
  expect(files.length).toBeGreaterThan(300);
  const isComment = (line: string) => /^\s*(\/\/|\/?\*)/.test(line);
  const faults = files.flatMap((path) => {
    const lines = read(path)
      .split('\n')
      .filter((line) => !isComment(line));
    return [...found(path, lines, IN_NAMES), ...found(path, lines.flatMap(sentencesIn))];
  });
  expect([...new Set(faults)]).toEqual([]);
});

/** What a line of code says to people: strings that begin a sentence, and text between tags. */
function sentencesIn(line: string): readonly string[] {
  return [...line.matchAll(/['"`]([A-Z][^'"`]*\s[^'"`]*)|>([^<>{}]+)</g)].map(
    ([, text = '', child = '']) => text + child,
  );
}

test('names of tests use plain words', () => {
  const files = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['**/node_modules/**'] });
  expect(files.length).toBeGreaterThan(200);
  const names =
    /^ *(?:(?:test|describe)[\w.]*(?:\.each.*\))?|\](?: as const)?\)|\)|\})\(\s*((['"`]).*?(?<!\\)\2)/gm;
  const faults = files.flatMap((path) =>
    found(
      path,
      [...read(path).matchAll(names)].map(([, name = '']) => name),
      IN_NAMES,
    ),
  );
  expect(faults).toEqual([]);
});

const MAX_WORDS = 35;

/** Sentences of running text, without code, tables, headings and addresses. */
function sentencesOf(page: string): readonly string[] {
  return page
    .replaceAll(/^ *```[^]*?^ *```$/gm, '')
    .split(/\n\s*\n|\n(?=\s*[-|#>\d])/)
    .filter((paragraph) => !/^\s*[|#]/.test(paragraph))
    .map((paragraph) => paragraph.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('\n', ' '))
    .flatMap((paragraph) => paragraph.split(/(?<=[.!?:])\s+/));
}

test.each(globSync('docs/{get-started,guides}/*.md', { cwd: ROOT }))(
  'no sentence of %s is longer than 35 words',
  (path) => {
    const long = sentencesOf(read(path)).filter((each) => each.split(/\s+/).length > MAX_WORDS);
    expect(long).toEqual([]);
  },
);
