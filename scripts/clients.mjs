// Installs the clients of test/clients, which are too large for everybody's install, and runs their tests.
import { join } from 'node:path';
import { NODE_24, ROOT, run } from './tree.mjs';

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const folder = join(ROOT, 'test/clients');
const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
const steps = [
  [npm, ['ci', '--prefix', folder, '--ignore-scripts', ...quiet]],
  [NODE_24, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-b', folder]],
  [NODE_24, [join(ROOT, 'scripts/test.mjs'), '--project', 'clients', ...process.argv.slice(2)]],
];
for (const [command, args] of steps) {
  const { code } = await run(command, args);
  if (code !== 0) process.exit(1);
}
