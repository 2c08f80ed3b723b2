// Installs the clients of test/clients, which are too large for everybody's install, and runs their tests.
import { join } from 'node:path';
import { NODE_24 } from './node-24.mjs';
import { npm, ROOT, run } from './tree.mjs';

const folder = join(ROOT, 'test/clients');
const test = join(ROOT, 'scripts/test.mjs');
const steps = [
  () => npm(['ci', '--prefix', folder, '--ignore-scripts']),
  () => run(NODE_24, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-b', folder]),
  () => run(NODE_24, [test, '--project', 'clients', ...process.argv.slice(2)]),
];
for (const step of steps) {
  const { code } = await step();
  if (code !== 0) process.exit(1);
}
