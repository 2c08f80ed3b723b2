/**
 * `npm run bench`: the gateway beside *bare* (node:http in, an undici.Pool out) and other proxies, in front of one
 * fake upstream, as ratios of one run; then the other protocols beside chat completions; then the registry with ten
 * thousand machines. docs/performance.md lists the flags that measure something else.
 * Ends with 0 where all bounds hold, with 1 where one is broken, and with 2 where it could not measure. A missed aim
 * is said, and changes nothing.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../main/platform/errors.ts';
import { conclusionOf, type Bound } from './kit/bound.ts';
import { createChildren } from './kit/children.ts';
import { PARTS, type Part } from './parts.ts';

async function main({ limitMs, run }: Part, word: string): Promise<readonly Bound[]> {
  if (process.platform !== 'linux') {
    throw new Error('The bench needs Linux: it reads CPU time and memory of processes from /proc.');
  }
  const directory = mkdtempSync(join(tmpdir(), 'switchyard-bench-'));
  const children = createChildren();
  const stopped = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Error(`not done after ${limitMs / 1000} s`)), limitMs).unref();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
    }
  });
  // Whatever throws on the way, no child is left.
  process.on('exit', () => children.killAll());
  try {
    return await Promise.race([run({ children, directory, word }), stopped]);
  } finally {
    await children.endAll();
    rmSync(directory, { recursive: true, force: true });
  }
}

try {
  const [flag = '', word = ''] = process.argv.slice(2);
  const part = PARTS[flag];
  if (part === undefined) throw new Error(`${flag} is none of ${Object.keys(PARTS).join(' ')}`);
  const { text, code } = conclusionOf(await main(part, word));
  process.stdout.write(`\n${text}\n`);
  process.exit(code);
} catch (error) {
  process.stderr.write(`bench failed: ${messageOf(error)}\n`);
  process.exit(2);
}
