import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/gateway.ts';

const ROOT = join(import.meta.dirname, '../..');

/** What the linter, with this project's rules, says of a file with these lines at this place. */
async function lint(path: string, lines: string): Promise<string> {
  const tree = temporaryDirectory();
  copyFileSync(join(ROOT, '.oxlintrc.json'), join(tree, '.oxlintrc.json'));
  mkdirSync(join(tree, dirname(path)), { recursive: true });
  writeFileSync(join(tree, path), lines);
  return lintIn(tree, path);
}

function lintIn(tree: string, path: string): Promise<string> {
  const oxlint = join(ROOT, 'node_modules/oxlint/bin/oxlint');
  return new Promise((resolve) => {
    execFile(process.execPath, [oxlint, '--format=unix', path], { cwd: tree }, (_error, stdout) =>
      resolve(stdout),
    );
  });
}

const importing = (specifier: string) => `import { x } from '${specifier}';\nexport const y = x;\n`;

test.each([
  ['the gateway', 'main/gateway', '../registry/registry.ts'],
  ['the gateway', 'main/gateway', '../agent/agent.ts'],
  ['the gateway', 'main/gateway/routing', '../../app/app.ts'],
  ['the gateway', 'main/gateway', '../demo/engine.ts'],
  ['the gateway', 'main/gateway', 'electron'],
  ['the agent', 'main/agent', '../registry/registry.ts'],
  ['the agent', 'main/agent/engines', '../../gateway/gateway.ts'],
  ['the agent', 'main/agent', '../config/load.ts'],
  ['the registry', 'main/registry', '../gateway/gateway.ts'],
  ['the registry', 'main/registry/verification', '../../agent/agent.ts'],
  ['the registry', 'main/registry', '../config/load.ts'],
  ['the configuration', 'main/config', '../gateway/gateway.ts'],
  ['the configuration', 'main/config', '../registry/registry.ts'],
  ['the configuration', 'main/config', '../agent/agent.ts'],
  ['the composition root', 'main/app', '../cli/cli.ts'],
  ['the desktop', 'main/desktop', '../gateway/gateway.ts'],
  ['the desktop', 'main/desktop', '../registry/registry.ts'],
  ['the desktop', 'main/desktop', '../agent/agent.ts'],
  ['the desktop', 'main/desktop', '../app/app.ts'],
  ['the desktop', 'main/desktop', '../cli/cli.ts'],
  ['the platform', 'main/platform', '../gateway/routing/router.ts'],
  ['the platform', 'main/platform', '../config/load.ts'],
  ["the platform's rooms", 'main/platform/http', '../../config/load.ts'],
  ['the real program', 'main', './demo/demo.ts'],
  ['the real program', 'main', 'electron'],
  ['the real program', 'main', './desktop/tray.ts'],
  ['what is shared', 'shared', '../main/config/load.ts'],
  ['what is shared', 'shared', 'node:fs'],
  ['the window', 'renderer', '../main/config/load.ts'],
  ['the window', 'renderer', 'node:fs'],
])('%s (%s) may not import %s', async (_who, folder, specifier) => {
  const said = await lint(`${folder}/breach-of-a-boundary.ts`, importing(specifier));
  expect(said).toContain('no-restricted-imports');
});

/** The floors of the gateway from top to bottom; those in one entry do not import each other. */
const FLOORS = [
  ['api'],
  ['install'],
  ['chat'],
  ['auth', 'monitoring'],
  ['routing'],
  ['circuits'],
  ['upstream'],
  ['http', 'translation'],
  ['usage'],
];

const UPWARD = FLOORS.flatMap((rooms, floor) =>
  rooms.flatMap((room) =>
    [...FLOORS.slice(0, floor), rooms.filter((other) => other !== room)]
      .flat()
      .map((above) => [room, above] as const),
  ),
);

test.each(UPWARD)(
  'gateway/%s may not import gateway/%s above or beside it',
  async (room, above) => {
    const path = `main/gateway/${room}/breach-of-a-boundary.ts`;
    expect(await lint(path, importing(`../${above}/x.ts`))).toContain('no-restricted-imports');
  },
);

const COMPOSITION = readdirSync(join(ROOT, 'main/gateway')).filter((name) => name.endsWith('.ts'));

test.each(FLOORS.flat())(
  'gateway/%s may not import what puts the gateway together',
  async (room) => {
    const path = `main/gateway/${room}/breach-of-a-boundary.ts`;
    const lines = COMPOSITION.map((name, n) => `export { x as x${n} } from '../${name}';\n`);
    const said = await lint(path, lines.join(''));
    expect(said.split('no-restricted-imports')).toHaveLength(COMPOSITION.length + 1);
  },
);

test.each([
  ['chat/resume', '../relay.ts'],
  ['chat/resume', '../../monitoring/request-log.ts'],
  ['upstream/protocols', '../attempt.ts'],
  ['upstream/protocols', '../../usage/recorder.ts'],
  ['translation/messages', '../../http/errors.ts'],
  ['translation/responses', '../../upstream/sse.ts'],
])('gateway/%s, a room within a floor, may not import %s', async (room, specifier) => {
  const path = `main/gateway/${room}/breach-of-a-boundary.ts`;
  expect(await lint(path, importing(specifier))).toContain('no-restricted-imports');
});

test('routing does not know who observes it', async () => {
  const path = 'main/gateway/chat/breach-of-a-boundary.ts';
  const said = await lint(path, importing('../monitoring/request-log.ts'));
  expect(said).toContain('no-restricted-imports');
});

test('files that import each other are refused, types counted', async () => {
  const tree = temporaryDirectory();
  copyFileSync(join(ROOT, '.oxlintrc.json'), join(tree, '.oxlintrc.json'));
  mkdirSync(join(tree, 'shared'));
  const file = (name: string, other: string, its: string) =>
    writeFileSync(
      join(tree, 'shared', `${name}.ts`),
      `import type { ${its} } from './${other}.ts';\nexport interface ${name.toUpperCase()} {\n  readonly other: ${its} | null;\n}\n`,
    );
  file('a', 'b', 'B');
  file('b', 'a', 'A');
  expect(await lintIn(tree, 'shared')).toContain('no-cycle');
});

test.each(['Date.now()', 'setTimeout(() => {}, 1)', "fetch('http://x')", 'process.env'])(
  'the gateway may not reach for %s',
  async (expression) => {
    const said = await lint(
      'main/gateway/breach-of-a-boundary.ts',
      `export const y = ${expression};\n`,
    );
    expect(said).toContain('no-restricted-globals');
  },
);

test('a file that keeps to its boundary passes', async () => {
  const lines = "import { UPSTREAM_IDS } from '#shared/ids.ts';\nexport const y = UPSTREAM_IDS;\n";
  expect(await lint('main/gateway/breach-of-a-boundary.ts', lines)).not.toContain('no-restricted');
});
