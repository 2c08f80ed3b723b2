import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

// `npm run demo` installs the dependencies of package.json without those for development.

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const { dependencies } = JSON.parse(read('package.json')) as {
  readonly dependencies: Readonly<Record<string, string>>;
};

/** What `npm run demo` and `npm run start:headless` run; the desktop app is built of all packages. */
const RUNS = [
  '{main,shared,renderer}/**/*.{ts,tsx,cjs}',
  'scripts/{build,node-24,setup,start,inglenook,tree}.mjs',
];

const isDesktop = (path: string) => /^main\/(desktop\/|electron\.ts)/.test(path);

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

test('the program and its window import the packages of the dependencies, and no others', () => {
  const imported = textsOf(RUNS)
    .filter(([path]) => !isDesktop(path))
    .flatMap(([, text]) => packagesIn(text));
  expect([...new Set(imported)].toSorted()).toEqual(Object.keys(dependencies).toSorted());
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

test('no production dependency runs a script when it is installed, beyond those that package.json names', () => {
  const { allowScripts } = JSON.parse(read('package.json')) as { allowScripts: object };
  type Entry = Readonly<Record<'dev' | 'devOptional' | 'optional' | 'hasInstallScript', boolean>>;
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Entry> };
  const production = Object.entries(packages).filter(
    ([path, { dev, devOptional, optional }]) => path !== '' && !dev && !devOptional && !optional,
  );
  expect(production.length).toBeGreaterThan(Object.keys(dependencies).length);
  const scripted = production.filter(([path, { hasInstallScript }]) => {
    const { scripts = {} } = JSON.parse(read(`${path}/package.json`)) as { scripts?: object };
    return (
      hasInstallScript || ['preinstall', 'install', 'postinstall'].some((name) => name in scripts)
    );
  });
  const names = scripted.map(([path]) => path.replace(/^.*node_modules\//, ''));
  expect(names.filter((name) => !(name in allowScripts))).toEqual([]);
});
