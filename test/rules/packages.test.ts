import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

// package.json and tools/development are installed apart: `npm run demo` and `npm start` do without the second.

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

type Manifest = Readonly<
  Record<'dependencies' | 'devDependencies' | 'scripts', Record<string, string>>
>;
const manifest = JSON.parse(read('package.json')) as Manifest;
const development = JSON.parse(read('tools/development/package.json')) as Manifest;

const PROGRAM = { ...manifest.dependencies, ...manifest.devDependencies };
const TOOLS = Object.keys(development.devDependencies);

/** What `npm run demo` and `npm start` run. */
const RUNS = [
  '{main,shared,renderer}/**/*.{ts,tsx,cjs}',
  'scripts/{build,pack,setup,start,switchyard,tree}.mjs',
];

/** Code that uses a tool names it: by an import, a command, or in a configuration. */
const USERS = [
  '{bench,test,scripts,renderer,main}/**/*.{ts,tsx,mjs,json}',
  '*.{ts,json}',
  '.oxlintrc.json',
  '.prettierrc.json',
];

function textsOf(patterns: readonly string[]): readonly (readonly [path: string, text: string])[] {
  return globSync(patterns, { cwd: ROOT, exclude: ['**/node_modules', 'package-lock.json'] }).map(
    (path) => [path, read(path)],
  );
}

/** The packages that a file imports at run time. */
function packagesIn(text: string): readonly string[] {
  const imports = text.matchAll(
    /^(?:import (?!type )(?:[^'\n]* from )?|(?:export )?[^'\n]*\} from )'([@\w][^':]*)'|\b(?:import|require)(?:\.meta)?(?:\.resolve)?\('([@\w][^':]*)'\)/gm,
  );
  return [...imports].map(([, from, called]) => {
    const parts = (from ?? called ?? '').split('/');
    return parts.slice(0, parts[0]?.startsWith('@') === true ? 2 : 1).join('/');
  });
}

test('the program and its window import only packages of package.json, so that a start needs no tools', () => {
  const imported = textsOf(RUNS).flatMap(([path, text]) =>
    packagesIn(text).map((name) => [name, path] as const),
  );
  expect(imported.filter(([name]) => !(name in PROGRAM))).toEqual([]);
  // The search sees what is there.
  expect(new Set(imported.map(([name]) => name))).toEqual(new Set(Object.keys(PROGRAM)));
});

test('each package of tools/development is used', () => {
  const texts = textsOf(USERS).map(([, text]) => text);
  const isUsed = (name: string) => {
    if (name === 'typescript') return manifest.scripts['types'] === 'tsc -b';
    if (name === 'oxlint-tsgolint') return manifest.scripts['lint']?.includes('--type-aware');
    const subject = name.replace(/^@types\//, '');
    return texts.some((text) => new RegExp(`["'/@ ]${subject}(["'/ ]|$)`, 'm').test(text));
  };
  expect(TOOLS.filter((name) => !isUsed(name))).toEqual([]);
  expect(isUsed(['left', 'right'].join('-to-'))).toBe(false);
});
