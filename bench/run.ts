/**
 * `npm run bench`: the gateway beside a bare node:http proxy and nginx, in front of one fake
 * upstream, as ratios of one run. `-- --quick` takes a rougher look in less than 40 s.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { boundsOf } from './bounds.ts';
import { createChildren, terminate, type Children } from './children.ts';
import { watchOthers } from './disturbance.ts';
import { startLoader } from './loader.ts';
import { rssMb } from './proc.ts';
import { reportText } from './report.ts';
import { DEFAULT_SCALE, QUICK_SCALE, runRounds } from './rounds.ts';
import { summarise } from './summary.ts';
import { startTargets, type Targets } from './targets.ts';

const LIMIT_MS = { default: 240_000, quick: 40_000 };

const say = (text: string) => process.stdout.write(`${text}\n`);

async function bench(children: Children, directory: string, quick: boolean): Promise<void> {
  const scale = quick ? QUICK_SCALE : DEFAULT_SCALE;
  say(`Node ${process.version}; ${children.pinning}; ${scale.rounds} rounds`);
  const targets = await startTargets(children, directory, scale.paceMs);
  if (targets.nginx === null) say('nginx: not installed, left out');
  const memoryBefore = memoryOf(targets);
  const loader = await startLoader(children);
  const othersShare = watchOthers([process.pid, ...children.pids()]);
  const rounds = await runRounds(targets, loader, scale, (done) =>
    say(`round ${done} of ${scale.rounds}`),
  );
  const memory = memoryOf(targets).map(({ name, mb }, index) => ({
    name,
    idleMb: memoryBefore[index]?.mb ?? Number.NaN,
    loadedMb: mb,
  }));
  const others = othersShare();
  const stopped = await terminate(targets.gateway.child);
  const summary = summarise(rounds);
  say(`\n${reportText(summary, memory, boundsOf(summary, stopped))}`);
  say(
    `Other programs used ${(100 * others).toFixed(0)} % of the machine: the less, the firmer the figures.`,
  );
  if (quick) say('Quick: few and short rounds; a figure near its bound proves nothing.');
}

function memoryOf({ bare, nginx, gateway }: Targets): { name: string; mb: number }[] {
  return Object.entries({ bare, nginx, gateway }).flatMap(([name, target]) =>
    target?.child ? [{ name, mb: rssMb(target.child.pid) }] : [],
  );
}

async function main(quick: boolean): Promise<void> {
  if (process.platform !== 'linux') {
    throw new Error('The bench needs Linux: it reads CPU time and memory of processes from /proc.');
  }
  const directory = mkdtempSync(join(tmpdir(), 'switchyard-bench-'));
  const children = createChildren();
  const stopped = new Promise<never>((_resolve, reject) => {
    const limitMs = quick ? LIMIT_MS.quick : LIMIT_MS.default;
    setTimeout(() => reject(new Error(`not done after ${limitMs / 1000} s`)), limitMs).unref();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
    }
  });
  // Whatever throws on the way, no child is left.
  process.on('exit', () => children.killAll());
  try {
    await Promise.race([bench(children, directory, quick), stopped]);
  } finally {
    await children.endAll();
    rmSync(directory, { recursive: true, force: true });
  }
}

try {
  await main(process.argv.includes('--quick'));
  process.exit(0);
} catch (error) {
  process.stderr.write(`bench failed: ${error instanceof Error ? error.message : 'unknown'}\n`);
  process.exit(1);
}
