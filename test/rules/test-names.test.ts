import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'vite';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

/** First words of what is only half a sentence, or says where and when before it says who. */
const HALVES = new Set(
  [
    'is are was were has have had do does did can cannot may must will would',
    'gives takes makes says tells goes comes keeps gets brings lets stays sends loses finds knows',
    'serves forgets refuses follows reaches waits puts survives continues belongs applies',
    'and or but so because that which who whose where when while until once if as it they its not',
    'with without of in on by for from to under over after before between during beyond alongside',
  ].flatMap((words) => words.split(' ')),
);

const AT_A_PLACE = /^at (?!most|least)/i;

/** Where none of these stands, no verb does: "is" and "tells" end in an s, as most plural subjects do. */
const VERB = /[a-rt-z]s\b|\b(are|have|do|can|cannot|may|must|will|become|come|go|pass)\b/i;

/** Where a table or a variable puts in what may be the verb. */
const BLANK = /%[a-z]|\$[a-z]|…/i;

/** Why a name alone is no sentence, as far as a machine can tell; null if it may be one. */
function faultOf(name: string): string | null {
  const [first = ''] = name.split(/[\s,:;]/);
  if (HALVES.has(first.toLowerCase()) || AT_A_PLACE.test(name) || first.startsWith('('))
    return `it begins with "${first}"`;
  if (!VERB.test(name) && !BLANK.test(name)) return 'it has no verb';
  return /\blaws?\b/i.test(name) ? 'a law is a promise here, or a rule' : null;
}

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

const nodesIn = (value: unknown): readonly Node[] => [value].flat().filter(isNode);

/** The text of a literal or a template, whose values are left blank. */
function textOf(node: Node | undefined): string | null {
  if (node?.type === 'Literal') return typeof node['value'] === 'string' ? node['value'] : null;
  if (node?.type !== 'TemplateLiteral') return null;
  const parts = nodesIn(node['quasis']);
  return parts.map(({ value }) => (value as { readonly cooked: string }).cooked).join('…');
}

/** What is called first in `test.runIf(a).each(b)(c)`, and what it is given last before the name: the table. */
function rootOf(callee: Node): { readonly name: unknown; readonly table: Node | undefined } {
  let [node, table]: [Node, Node | undefined] = [callee, undefined];
  for (;;) {
    const inner = node['callee'] ?? node['object'];
    if (!isNode(inner)) return { name: node['name'], table };
    if (node.type === 'CallExpression') table ??= nodesIn(node['arguments'])[0];
    node = inner;
  }
}

/** A name with the first text of each row of a literal table put in, or as it stands. */
function namesBy(name: string, table: Node | undefined): readonly string[] {
  if (!/^[^%$]*%s/.test(name) || table?.type !== 'ArrayExpression') return [name];
  const firsts = nodesIn(table['elements']).map((row) =>
    textOf(row.type === 'ArrayExpression' ? nodesIn(row['elements'])[0] : row),
  );
  return [...new Set(firsts.map((first) => name.replace('%s', () => first ?? '%s')))];
}

/** The names of all tests in a source file. */
function namesOf(path: string, source: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: Node): void => {
    if (node.type === 'CallExpression' && isNode(node['callee'])) {
      const { name: called, table } = rootOf(node['callee']);
      const [first, body] = nodesIn(node['arguments']);
      const name = called === 'test' && body !== undefined ? textOf(first) : null;
      if (name !== null) found.push(...namesBy(name, table));
    }
    for (const value of Object.values(node)) {
      if (typeof value === 'object') for (const child of nodesIn(value)) visit(child);
    }
  };
  visit(parseSync(path, source).program as unknown as Node);
  return found;
}

const FAULTY = [
  'is kept over a restart',
  'a text, plain and streamed',
  'with two machines the idle one is called',
  'at the end a stream is whole',
  '(remove) its files go',
  'a law holds',
];

test.each(FAULTY)('"%s" is no name of a test', (name) => {
  const source = `test.each([1])('${name}', () => {});`;
  expect(namesOf('a.test.ts', source).map(faultOf)).toEqual([expect.any(String)]);
});

test('a table whose rows are the names has one name for each', () => {
  const source = `test.runIf(x).each([['a key is kept', 1], ['of two', 2]])('%s', () => {});`;
  expect(namesOf('a.test.ts', source)).toEqual(['a key is kept', 'of two']);
});

test('each name of a test is a sentence of its own, and the only such one in its file', () => {
  const paths = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['**/node_modules/**'] });
  const names = paths.map((path) => namesOf(path, readFileSync(join(ROOT, path), 'utf8')));
  expect(names.flat().length).toBeGreaterThan(3000);
  const faults = paths.flatMap((path, at) =>
    (names[at] ?? []).flatMap((name, index, all) => {
      const fault = all.indexOf(name) < index ? 'the file has it twice' : faultOf(name);
      return fault === null ? [] : [`${path}: "${name}": ${fault}`];
    }),
  );
  expect(faults).toEqual([]);
});
