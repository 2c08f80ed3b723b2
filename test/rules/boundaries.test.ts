import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
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
  ['the gateway', 'main/gateway', '../app/app.ts'],
  ['the gateway', 'main/gateway', '../demo/engine.ts'],
  ['the gateway', 'main/gateway', 'electron'],
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
