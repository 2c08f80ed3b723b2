// Holds the count of tokens over 100,000 exchanges, where `npm test` has the time for some thousand.
import { join } from 'node:path';
import { NODE_24, ROOT, run } from './tree.mjs';

const env = { EXCHANGES: '100000', ...process.env };
const args = ['run', '--project', 'integration', 'test/integration/usage-exactness.test.ts'];
const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
const { code } = await run(NODE_24, [vitest, ...args], { env });
process.exit(code ?? 1);
