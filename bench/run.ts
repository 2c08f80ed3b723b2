/**
 * `npm run bench`: the gateway beside a bare node:http proxy and nginx, in front of one fake
 * upstream, as ratios of one run; then the other protocols beside chat completions; then the registry with
 * ten thousand machines. `-- --quick` takes a rougher look at the first in less than 40 s, `-- --protocols` and
 * `-- --registry` look at the others alone, `-- --pool` puts several gateways on one
 * PostgreSQL, `-- --soak` sends a million requests and looks at the memory, `-- --idle` looks at five minutes of doing
 * nothing, `-- --connections` holds ten thousand idle connections and then five thousand streams, and
 * `-- --against <folder>` compares this checkout with another.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../main/platform/errors.ts';
import { createChildren } from './children.ts';
import {
  runAgainst,
  runAll,
  runConnections,
  runIdle,
  runPool,
  runProtocols,
  runRegistry,
  runRelay,
  runSoak,
  type Part,
} from './parts.ts';

/** The parts by the flag that asks for them; without one the first runs. */
const PARTS: Readonly<Record<string, Part>> = {
  '': { limitMs: 840_000, run: runAll },
  '--quick': { limitMs: 40_000, run: (children, directory) => runRelay(children, directory, true) },
  '--protocols': { limitMs: 420_000, run: runProtocols },
  '--registry': { limitMs: 90_000, run: runRegistry },
  '--pool': { limitMs: 600_000, run: runPool },
  '--soak': { limitMs: 2_400_000, run: runSoak },
  '--idle': { limitMs: 360_000, run: runIdle },
  '--connections': { limitMs: 200_000, run: runConnections },
  '--against': { limitMs: 240_000, run: runAgainst },
};

async function main({ limitMs, run }: Part, word: string): Promise<void> {
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
    await Promise.race([run(children, directory, word), stopped]);
  } finally {
    await children.endAll();
    rmSync(directory, { recursive: true, force: true });
  }
}

try {
  const [flag = '', word = ''] = process.argv.slice(2);
  const part = PARTS[flag];
  if (part === undefined) throw new Error(`${flag} is none of ${Object.keys(PARTS).join(' ')}`);
  await main(part, word);
  process.exit(0);
} catch (error) {
  process.stderr.write(`bench failed: ${messageOf(error)}\n`);
  process.exit(1);
}
