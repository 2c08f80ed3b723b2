import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/gateway.ts';

const ROOT = join(import.meta.dirname, '../..');

/** What the tests plant in a tree that has this project's rules: text by path. */
const planted = new Map<string, string>();

/** Plants a file in a folder. */
function plant(folder: string, lines: string): string {
  const path = `${folder}/breach-of-a-boundary-${planted.size}.ts`;
  planted.set(path, lines);
  return path;
}

/** What the linter says of everything that is planted, line by line. */
async function lint(): Promise<readonly string[]> {
  const tree = temporaryDirectory();
  copyFileSync(join(ROOT, '.oxlintrc.json'), join(tree, '.oxlintrc.json'));
  for (const [path, lines] of planted) {
    mkdirSync(join(tree, dirname(path)), { recursive: true });
    writeFileSync(join(tree, path), lines);
  }
  const oxlint = join(ROOT, 'node_modules/oxlint/bin/oxlint');
  const linter = spawn(process.execPath, [oxlint, '--format=unix', '.'], {
    cwd: tree,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return (await text(linter.stdout)).split('\n');
}

let linted: Promise<readonly string[]> | null = null;

/** How often a planted file breaks a rule. */
async function breaches(path: string, rule: string): Promise<number> {
  linted ??= lint();
  return (await linted).filter((line) => line.startsWith(`${path}:`) && line.includes(rule)).length;
}

const importing = (specifier: string) => `import { x } from '${specifier}';\nexport const y = x;\n`;

/** Plants a file that imports `specifier`. */
const plantImport = (folder: string, specifier: string) => plant(folder, importing(specifier));

const BOUNDARIES = [
  ['the gateway', 'main/gateway', '../registry/registry.ts'],
  ['the gateway', 'main/gateway', '../agent/agent.ts'],
  ['the gateway', 'main/gateway/routing', '../../app/app.ts'],
  ['the gateway', 'main/gateway', '../demo/engine.ts'],
  ['the gateway', 'main/gateway', 'electron'],
  ['the agent', 'main/agent', '../registry/registry.ts'],
  ['the agent', 'main/agent/engines', '../../gateway/gateway.ts'],
  ['the agent', 'main/agent', '../config/load.ts'],
  ['the readers of engines', 'main/engines', '../gateway/gateway.ts'],
  ['the readers of engines', 'main/engines/adapters', '../../agent/agent.ts'],
  ['the registry', 'main/registry', '../gateway/gateway.ts'],
  ['the registry', 'main/registry/verification', '../../agent/agent.ts'],
  ['the registry', 'main/registry', '../config/load.ts'],
  ['the registry', 'main/registry', '../pool/pool.ts'],
  ['the registry', 'main/registry', '../engines/detect.ts'],
  ['the gateway', 'main/gateway', '../pool/pool.ts'],
  ['the gateway', 'main/gateway/routing', '../../pool/pool.ts'],
  ['the agent', 'main/agent', '../pool/pool.ts'],
  ['the configuration', 'main/config', '../pool/pool.ts'],
  ['the pool', 'main/pool', '../app/app.ts'],
  ['the pool', 'main/pool', '../agent/agent.ts'],
  ['the configuration', 'main/config', '../gateway/gateway.ts'],
  ['the configuration', 'main/config', '../registry/registry.ts'],
  ['the configuration', 'main/config', '../agent/agent.ts'],
  ['the composition root', 'main/app', '../cli/cli.ts'],
  ['the desktop', 'main/desktop', '../gateway/gateway.ts'],
  ['the desktop', 'main/desktop', '../registry/registry.ts'],
  ['the desktop', 'main/desktop', '../agent/agent.ts'],
  ['the desktop', 'main/desktop', '../app/app.ts'],
  ['the desktop', 'main/desktop', '../cli/cli.ts'],
  ['the platform', 'main/platform', '../gateway/routing/route.ts'],
  ['the platform', 'main/platform', '../config/load.ts'],
  ["the platform's rooms", 'main/platform/http', '../../config/load.ts'],
  ['the real program', 'main', './demo/demo.ts'],
  ['the real program', 'main', 'electron'],
  ['the real program', 'main', './desktop/tray.ts'],
  ['what is shared', 'shared', '../main/config/load.ts'],
  ['what is shared', 'shared', 'node:fs'],
  ['the window', 'renderer', '../main/config/load.ts'],
  ['the window', 'renderer', 'node:fs'],
  ['the window', 'renderer', '#shared/status.ts'],
] as const;

test.each(
  BOUNDARIES.map((boundary) => [...boundary, plantImport(boundary[1], boundary[2])] as const),
)('%s (%s) cannot import %s', async (_who, _folder, _specifier, path) => {
  expect(await breaches(path, 'no-restricted-imports')).toBe(1);
});

/** The floors of the gateway from top to bottom; those in one entry do not import each other. */
const FLOORS = [
  ['api'],
  ['chat'],
  ['auth', 'monitoring'],
  ['routing'],
  ['circuits'],
  ['upstream'],
  ['protocols'],
  ['http', 'usage'],
];

const UPWARD = FLOORS.flatMap((rooms, floor) =>
  rooms.flatMap((room) =>
    [...FLOORS.slice(0, floor), rooms.filter((other) => other !== room)]
      .flat()
      .map(
        (above) => [room, above, plantImport(`main/gateway/${room}`, `../${above}/x.ts`)] as const,
      ),
  ),
);

test.each(UPWARD)(
  'gateway/%s cannot import gateway/%s above or next to it',
  async (_room, _above, path) => {
    expect(await breaches(path, 'no-restricted-imports')).toBe(1);
  },
);

const COMPOSITION = readdirSync(join(ROOT, 'main/gateway')).filter((name) => name.endsWith('.ts'));

const IMPORTING_IT = COMPOSITION.map((name, n) => `export { x as x${n} } from '../${name}';\n`);

test.each(
  FLOORS.flat().map(
    (room) => [room, plant(`main/gateway/${room}`, IMPORTING_IT.join(''))] as const,
  ),
)('gateway/%s cannot import what puts the gateway together', async (_room, path) => {
  expect(await breaches(path, 'no-restricted-imports')).toBe(COMPOSITION.length);
});

const ROOMS = [
  ['chat/resume', '../relay.ts'],
  ['chat/resume', '../../monitoring/request-log.ts'],
  ['protocols/messages', '../../usage/recorder.ts'],
  ['protocols/responses', '../../upstream/call.ts'],
  ['protocols/chat', '../../chat/relay.ts'],
] as const;

test.each(
  ROOMS.map(
    ([room, specifier]) =>
      [room, specifier, plantImport(`main/gateway/${room}`, specifier)] as const,
  ),
)('gateway/%s, a room within a floor, cannot import %s', async (_room, _specifier, path) => {
  expect(await breaches(path, 'no-restricted-imports')).toBe(1);
});

const observer = plantImport('main/gateway/chat', '../monitoring/request-log.ts');

test('routing cannot import what observes it', async () => {
  expect(await breaches(observer, 'no-restricted-imports')).toBe(1);
});

function plantHalfOfCycle(name: string, other: string): void {
  const [type, its] = [name.toUpperCase(), other.toUpperCase()];
  const lines = `import type { ${its} } from './${other}.ts';\nexport interface ${type} {\n  readonly other: ${its} | null;\n}\n`;
  planted.set(`shared/${name}.ts`, lines);
}
plantHalfOfCycle('a', 'b');
plantHalfOfCycle('b', 'a');

test('files that import each other are refused, also where they import only types', async () => {
  const [a, b] = [
    await breaches('shared/a.ts', 'no-cycle'),
    await breaches('shared/b.ts', 'no-cycle'),
  ];
  expect(a + b).toBeGreaterThan(0);
});

const REACHES = ['Date.now()', 'setTimeout(() => {}, 1)', "fetch('http://x')", 'process.env'].map(
  (expression) => [expression, plant('main/gateway', `export const y = ${expression};\n`)] as const,
);

test.each(REACHES)('the gateway cannot use %s', async (_expression, path) => {
  expect(await breaches(path, 'no-restricted-globals')).toBe(1);
});

const kept = plant(
  'main/gateway',
  "import { UPSTREAM_IDS } from '#shared/ids.ts';\nexport const y = UPSTREAM_IDS;\n",
);

test('a file whose imports keep to its boundary passes', async () => {
  expect(await breaches(kept, 'no-restricted')).toBe(0);
});
