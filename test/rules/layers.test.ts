import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

const GROUND = ['shared', 'main/platform'];
const PROTOCOLS = [...GROUND, 'main/gateway/http', 'main/gateway/protocols'];
const UPSTREAM = [
  ...PROTOCOLS,
  'main/gateway/memory',
  'main/config',
  'main/engines',
  'main/gateway/upstream',
];
const ROUTING = [...UPSTREAM, 'main/gateway/circuits', 'main/gateway/routing'];
const SIBLINGS = ['main/registry', 'main/agent', 'main/gateway'];
const APP = [...GROUND, 'main/config', 'main/engines', ...SIBLINGS, 'main/app'];

/** What the files of a folder may import beside each other. A file belongs to the longest row that its path begins with. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  shared: [],
  renderer: ['shared'],
  'main/platform': ['shared'],
  'main/config': GROUND,
  'main/engines': GROUND,
  'main/registry': GROUND,
  'main/agent': [...GROUND, 'main/engines', 'main/config/schema.ts'],
  'main/gateway/http': GROUND,
  'main/gateway/usage': [...GROUND, 'main/config'],
  'main/gateway/protocols': PROTOCOLS,
  'main/gateway/memory': GROUND,
  'main/gateway/upstream': UPSTREAM,
  'main/gateway/circuits': [...UPSTREAM, 'main/gateway/circuits'],
  'main/gateway/routing': ROUTING,
  'main/gateway/monitoring': [...ROUTING, 'main/gateway/usage'],
  'main/gateway/auth': [...PROTOCOLS, 'main/config'],
  'main/gateway/chat/resume': ROUTING,
  'main/gateway/chat': [...ROUTING, 'main/gateway/auth', 'main/gateway/chat/resume'],
  'main/gateway': [...GROUND, 'main/config', 'main/engines', 'main/gateway'],
  'main/app': APP,
  'main/cli': APP,
  'main/demo': APP,
  'main/desktop': GROUND,
  main: [...APP, 'main/cli', 'main/demo', 'main/desktop'],
};

/** What a folder may import as types alone: they leave nothing behind in the program. */
const TYPES: Readonly<Record<string, readonly string[]>> = {
  'main/desktop': ['main/app', 'main/agent', 'electron', 'electron-updater'],
  'main/gateway/memory': ['main/gateway'],
};

/** Which packages some folders may import; the others may import any but Electron. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  shared: /^zod$/,
  renderer: /^(react|react-dom|uqr)(\/|$)/,
  main: /./,
};

const isWithin = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);

function layerOf(path: string): string {
  const rows = Object.keys(LAYERS).filter((folder) => isWithin(path, folder));
  return rows.toSorted((a, b) => b.length - a.length)[0] ?? '';
}

interface Import {
  readonly isType: boolean;
  /** A path from the root, or the name of a package. */
  readonly target: string;
  readonly isPackage: boolean;
}

const IMPORT =
  /^(?:import|export) (?<type>type )?(?:[^'";]*? from )?'(?<from>[^']+)'|\bimport\('(?<lazy>[^']+)'\)/gm;

function importsIn(path: string, text: string): readonly Import[] {
  return [...text.matchAll(IMPORT)].map(({ groups = {} }) => {
    const specifier = groups['from'] ?? groups['lazy'] ?? '';
    const isType = groups['type'] !== undefined;
    if (specifier.startsWith('#')) return { isType, target: specifier.slice(1), isPackage: false };
    if (!specifier.startsWith('.')) return { isType, target: specifier, isPackage: true };
    return { isType, target: posix.join(posix.dirname(path), specifier), isPackage: false };
  });
}

function isAllowed(path: string, { isType, target, isPackage }: Import): boolean {
  const layer = layerOf(path);
  if (isType && (TYPES[layer] ?? []).some((folder) => isWithin(target, folder))) return true;
  if (isPackage) return (PACKAGES[layer] ?? /^(?!electron)/).test(target);
  if (target === 'package.json') return layer !== 'shared' && layer !== 'renderer';
  return (
    layerOf(target) === layer || (LAYERS[layer] ?? []).some((folder) => isWithin(target, folder))
  );
}

const breachesIn = (path: string, text: string) =>
  importsIn(path, text)
    .filter((one) => !isAllowed(path, one))
    .map(({ target }) => `${path} imports ${target}`);

const FILES = globSync('{main,shared,renderer}/**/*.{ts,tsx}', {
  cwd: ROOT,
  exclude: ['**/vite.config.ts'],
});
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

test('imports run one way through the layers', () => {
  expect(FILES.length).toBeGreaterThan(300);
  expect(FILES.flatMap((path) => breachesIn(path, read(path)))).toEqual([]);
});

test.each([
  ['main/gateway/x.ts', "import { x } from '../registry/registry.ts';"],
  ['main/gateway/routing/x.ts', "export { x } from '../chat/handler.ts';"],
  ['main/gateway/chat/x.ts', "import { createGateway } from '../gateway.ts';"],
  ['main/registry/x.ts', "import type {\n  Config,\n} from '../config/load.ts';"],
  ['main/platform/x.ts', "const x = await import('../app/app.ts');"],
  ['main/agent/x.ts', "import electron from 'electron';"],
  ['main/desktop/x.ts', "import { createHost } from '../app/app.ts';"],
  ['renderer/x.ts', "import { readFileSync } from 'node:fs';"],
  ['shared/x.ts', "import { x } from '../main/platform/clock.ts';"],
])('the layers forbid %s to say %s', (path, text) => {
  expect(breachesIn(path, text)).toHaveLength(1);
});
