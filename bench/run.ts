/**
 * `npm run bench`: the gateway beside a bare node:http proxy and nginx, in front of one fake
 * upstream, as ratios of one run; then the registry with ten thousand machines. `-- --quick` takes a
 * rougher look at the first in less than 40 s, `-- --registry` looks at the second alone, and `-- --soak`
 * sends a million requests and looks at the memory, `-- --idle` looks at five minutes of doing nothing.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { boundsOf, idleBoundsOf, registryBoundsOf, soakBoundsOf } from './bounds.ts';
import { createChildren, terminate, type Children } from './children.ts';
import { watchOthers } from './disturbance.ts';
import { idle } from './idle.ts';
import { startLoader } from './loader.ts';
import { rssMb } from './proc.ts';
import { benchRegistry } from './registry.ts';
import { idleText, registryText, reportText, soakText } from './report.ts';
import { DEFAULT_SCALE, QUICK_SCALE, runRounds } from './rounds.ts';
import { soak } from './soak.ts';
import { summarise } from './summary.ts';
import { startTargets, type Targets } from './targets.ts';

type Part = 'all' | 'quick' | 'registry' | 'soak' | 'idle';

const LIMIT_MS: Readonly<Record<Part, number>> = {
  all: 300_000,
  quick: 40_000,
  registry: 90_000,
  soak: 580_000,
  idle: 360_000,
};

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

async function registry(children: Children, directory: string): Promise<void> {
  const figures = await benchRegistry(children, directory);
  say(`\n${registryText(figures, registryBoundsOf(figures))}`);
}

async function endurance(children: Children, directory: string): Promise<void> {
  const { failingOver } = await startTargets(children, directory, DEFAULT_SCALE.paceMs);
  const figures = await soak(failingOver, await startLoader(children));
  say(`\n${soakText(figures, soakBoundsOf(figures))}`);
}

async function idling(children: Children, directory: string): Promise<void> {
  const figures = await idle(children, directory);
  say(`\n${idleText(figures, idleBoundsOf(figures))}`);
}

async function benchPart(part: Part, children: Children, directory: string): Promise<void> {
  switch (part) {
    case 'soak':
      return endurance(children, directory);
    case 'idle':
      return idling(children, directory);
    case 'registry':
      return registry(children, directory);
    case 'quick':
      return bench(children, directory, true);
    case 'all':
      await bench(children, directory, false);
      await registry(children, directory);
  }
}

function memoryOf({ bare, nginx, gateway }: Targets): { name: string; mb: number }[] {
  return Object.entries({ bare, nginx, gateway }).flatMap(([name, target]) =>
    target?.child ? [{ name, mb: rssMb(target.child.pid) }] : [],
  );
}

async function main(part: Part): Promise<void> {
  if (process.platform !== 'linux') {
    throw new Error('The bench needs Linux: it reads CPU time and memory of processes from /proc.');
  }
  const directory = mkdtempSync(join(tmpdir(), 'switchyard-bench-'));
  const children = createChildren();
  const stopped = new Promise<never>((_resolve, reject) => {
    const limitMs = LIMIT_MS[part];
    setTimeout(() => reject(new Error(`not done after ${limitMs / 1000} s`)), limitMs).unref();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
    }
  });
  // Whatever throws on the way, no child is left.
  process.on('exit', () => children.killAll());
  try {
    await Promise.race([benchPart(part, children, directory), stopped]);
  } finally {
    await children.endAll();
    rmSync(directory, { recursive: true, force: true });
  }
}

function partOf(args: readonly string[]): Part {
  if (args.includes('--registry')) return 'registry';
  if (args.includes('--soak')) return 'soak';
  if (args.includes('--idle')) return 'idle';
  return args.includes('--quick') ? 'quick' : 'all';
}

try {
  await main(partOf(process.argv));
  process.exit(0);
} catch (error) {
  process.stderr.write(`bench failed: ${error instanceof Error ? error.message : 'unknown'}\n`);
  process.exit(1);
}
