import { readFileSync, globSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseSync } from 'vite';
import { expect, test } from 'vitest';

const RENDERER = join(import.meta.dirname, '../../renderer');

/** Attributes that are read or read aloud. */
const SHOWN = 'shown in an element';
const READ = new Set([
  SHOWN,
  'alt',
  'aria-label',
  'label',
  'placeholder',
  'title',
  'what',
  'closing',
]);

/** Literals that only look like words: compared, sent, looked up, or the same in every language. */
const NOT_WORDS = new Set(
  [
    'ArrowUp ArrowDown ArrowLeft ArrowRight PageUp PageDown Home End Enter Escape',
    'Authorization Content-Type ETag If-None-Match',
    'OpenAI Anthropic Groq Together OpenRouter Mistral DeepSeek Ollama',
    'Edge Opera Firefox Chrome Safari Android Windows Linux',
  ].flatMap((names) => names.split(' ')),
)
  .add('LM Studio')
  // Values of the agent's interface, the heads of a header and of a command, and selectors.
  .add('files of the agent')
  .add('no engine found')
  .add('Bearer ')
  .add('ssh -N -L ')
  .add('input, textarea, select, dialog, [contenteditable]')
  .add(':is(input, select, textarea):not(:disabled, [readonly])');

/** What is for machines or for its developers, and so the same in every language. */
const NOT_SHOWN: readonly string[] = [
  'features/requests/bug-report.ts',
  'features/requests/code-samples.ts',
  // Names of models.
  'features/setup/list-prices.ts',
];

/** Two words, or a word as a sentence or a label begins or ends. */
const READS_AS_WORDS = /[a-z’]{2,}[,.:;…]? [a-z(“]|^[A-Z][a-z]+|[a-z]{2}[.…!?]$/;

/** In a template, a word beside a space is enough: values stand around it. */
const WORD_IN_TEMPLATE = /(^|\s)[a-z]{2,}[,.:;…]?(\s|$)/i;

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [key: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

/** Every literal of a source file that somebody would read in the window. */
function visibleLiterals(path: string, source: string): readonly string[] {
  const { program } = parseSync(path, source);
  const found: string[] = [];
  const note = (node: Node, text: string): void => {
    const line = source.slice(0, node.start).split('\n').length;
    found.push(`${relative(RENDERER, path)}:${line}: ${text.replaceAll(/\s+/g, ' ').trim()}`);
  };
  const visit = (node: Node, attribute: string | null): void => {
    if (/^TS(?!As|NonNull|Satisfies)/.test(node.type) || isNoText(node)) return;
    const text = textOf(node);
    if (text !== null && isVisible(node, text, attribute)) note(node, text);
    const name = placeIn(node, attribute);
    for (const value of Object.values(node)) {
      for (const child of [value].flat()) if (isNode(child)) visit(child, name);
    }
  };
  visit(program as unknown as Node, null);
  return found;
}

/** Names of modules, and what is thrown where the program itself is wrong. */
function isNoText({ type, source, callee }: Node): boolean {
  if (type === 'ImportDeclaration' || (type.startsWith('Export') && isNode(source))) return true;
  return isNode(callee) && (callee['name'] === 'assertNever' || callee['name'] === 'Error');
}

function textOf({ type, value }: Node): string | null {
  if (type === 'TemplateElement') return (value as { readonly raw: string }).raw;
  const isText = (type === 'Literal' || type === 'JSXText') && typeof value === 'string';
  return isText ? value : null;
}

/** The attribute that what is inside the node belongs to; values that are compared or passed on are in none. */
function placeIn({ type, name }: Node, place: string | null): string | null {
  if (type === 'JSXAttribute') {
    return isNode(name) && typeof name['name'] === 'string' ? name['name'] : 'namespaced';
  }
  if (type === 'JSXExpressionContainer') return place ?? SHOWN;
  const isUsed = ['BinaryExpression', 'CallExpression', 'MemberExpression'].includes(type);
  return type === 'JSXElement' || (isUsed && place === SHOWN) ? null : place;
}

function isVisible({ type }: Node, text: string, attribute: string | null): boolean {
  if (!/[a-z]{2}/i.test(text) || NOT_WORDS.has(text)) return false;
  // Variables of the environment.
  if (text.startsWith('INGLENOOK_')) return false;
  if (type === 'JSXText' || (attribute !== null && READ.has(attribute))) return true;
  if (attribute !== null) return false;
  return type === 'TemplateElement' ? WORD_IN_TEMPLATE.test(text) : READS_AS_WORDS.test(text);
}

const files = globSync('**/*.{ts,tsx}', { cwd: RENDERER })
  .filter((path) => !path.startsWith('text') && path !== 'vite.config.ts')
  .filter((path) => !NOT_SHOWN.includes(path));

test('no visible text stands outside the catalogue of texts', () => {
  const found = files.flatMap((path) => {
    const file = join(RENDERER, path);
    return visibleLiterals(file, readFileSync(file, 'utf8'));
  });
  expect(found).toEqual([]);
});

test.each([
  ['an element', '<p>Serving</p>'],
  ['a label', '<a title="again" />'],
  ['a choice in an element', '<p>{on ? "Switched on" : null}</p>'],
  ['a sentence', 'say("It does not answer.")'],
  ['a word in an element', '<p>{isOn ? "on" : null}</p>'],
  ['a template', 'say(`${name} answered`)'],
])('visible text in %s is found', (_, code) => {
  expect(visibleLiterals('a.tsx', code)).toHaveLength(1);
});

test.each(['<a className="no words">{kind === "open" && mark}</a>', 'get(`/api/v1/${id}`)'])(
  'code without visible text is passed: %s',
  (code) => {
    expect(visibleLiterals('a.tsx', code)).toEqual([]);
  },
);
