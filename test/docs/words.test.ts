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

const PATTERN = new RegExp(String.raw`\b(${Object.keys(INSTEAD).join('|')})\b`, 'i');

/** Lines with such a word, and what to write. */
function found(path: string, lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => {
    const word = PATTERN.exec(line)?.[0].toLowerCase();
    return word === undefined
      ? []
      : [`${path}: ${line.trim().slice(0, 80)} (${word}: ${INSTEAD[word] ?? ''})`];
  });
}

const PAGES = globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT, exclude: ['**/node_modules/**'] });

test.each(PAGES)('%s uses plain words', (path) => {
  expect(found(path, read(path).split('\n'))).toEqual([]);
});

test('messages and labels use plain words', () => {
  const files = globSync('{main,shared,renderer}/**/*.{ts,tsx}', { cwd: ROOT });
  expect(files.length).toBeGreaterThan(300);
  const isComment = (line: string) => /^\s*(\/\/|\/?\*)/.test(line);
  const faults = files.flatMap((path) =>
    found(
      path,
      read(path)
        .split('\n')
        .filter((line) => !isComment(line)),
    ),
  );
  expect(faults).toEqual([]);
});

test('names of tests use plain words', () => {
  const files = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['**/node_modules/**'] });
  expect(files.length).toBeGreaterThan(200);
  const names = /^\s*(?:test|describe|\]\)|it)[\w.]*(?:\.each\(.*\))?\(\s*(['"`].*)$/;
  const faults = files.flatMap((path) =>
    found(
      path,
      read(path)
        .split('\n')
        .flatMap((line) => names.exec(line)?.[1] ?? []),
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
