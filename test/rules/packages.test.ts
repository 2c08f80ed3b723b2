import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

// package.json, tools/desktop and tools/development are installed apart: `npm run demo` does with the first, and `npm start`
// adds the second where there is a display.

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

type Manifest = Readonly<
  Record<'dependencies' | 'devDependencies' | 'scripts', Record<string, string>>
>;
const manifest = JSON.parse(read('package.json')) as Manifest;
const desktop = JSON.parse(read('tools/desktop/package.json')) as Manifest;
const development = JSON.parse(read('tools/development/package.json')) as Manifest;

const PROGRAM = { ...manifest.dependencies, ...manifest.devDependencies };
const TOOLS = Object.keys(development.devDependencies);

/** What `npm run demo` and `npm start` run. */
const RUNS = [
  '{main,shared,renderer}/**/*.{ts,tsx,cjs}',
  'scripts/{build,install,node-24,pack,setup,start,inglenook,tree}.mjs',
];

const isDesktop = (path: string) => /^main\/(desktop\/|electron\.ts)/.test(path);

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

test('the program and its window import only packages of package.json, and the desktop app those of tools/desktop', () => {
  const imported = textsOf(RUNS).flatMap(([path, text]) =>
    packagesIn(text).map((name) => [name, path] as const),
  );
  const isHad = ([name, path]: readonly [string, string]) =>
    name in PROGRAM || (isDesktop(path) && name in desktop.devDependencies);
  expect(imported.filter((one) => !isHad(one))).toEqual([]);
  // The search sees what is there.
  expect(new Set(imported.map(([name]) => name))).toEqual(
    new Set(Object.keys({ ...PROGRAM, ...desktop.devDependencies })),
  );
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

interface LockedPackage {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Where Node looks for `name` from the package at `from`. */
function placesOf(from: string, name: string): readonly string[] {
  const parts = from.split('/node_modules/');
  const inside = parts.map((_part, at) => parts.slice(0, at + 1).join('/node_modules/'));
  return [...inside.map((place) => `${place}/node_modules/${name}`), `node_modules/${name}`];
}

// `npm ci` refuses a lock file that was written next to installed packages and so lacks those of other systems.
test.each(['package-lock.json', 'docs/site/package-lock.json', 'test/clients/package-lock.json'])(
  '%s has every package that its packages need, on any system',
  (path) => {
    const lock = JSON.parse(read(path)) as {
      readonly packages: Readonly<Record<string, LockedPackage>>;
    };
    const { packages } = lock;
    expect(Object.keys(packages).length).toBeGreaterThan(50);
    const missing = Object.entries(packages).flatMap(([from, wanted]) =>
      Object.keys({ ...wanted.dependencies, ...wanted.optionalDependencies })
        .filter((name) => !placesOf(from, name).some((place) => place in packages))
        .map((name) => `${from} needs ${name}`),
    );
    expect(missing).toEqual([]);
  },
);
