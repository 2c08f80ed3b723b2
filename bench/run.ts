/**
 * `npm run bench`: the gateway beside *bare* (node:http in, an undici.Pool out) and other proxies, in front of one
 * fake upstream, as ratios of one run; then the other protocols beside chat completions; then the registry with ten
 * thousand machines. docs/understand/performance.md lists the flags that measure something else.
 * Ends with 0 where all bounds hold, with 1 where one is broken, and with 2 where it could not measure. A missed aim
 * is said, and changes nothing.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { conversations } from './conversations.ts';
import { frames } from './frames.ts';
import { growth } from './growth.ts';
import { idle } from './idle.ts';
import { createChildren, type Children } from './kit/children.ts';
import { watchOthers } from './kit/proc.ts';
import { pool } from './pool.ts';
import { benchRegistry } from './registry/registry.ts';
import { against } from './relay/against.ts';
import { protocols } from './relay/protocols.ts';
import { DEFAULT_SCALE, QUICK_SCALE, relay } from './relay/relay.ts';
import { conclusionOf, reportText, whole, type Bound, type Report } from './report.ts';
import { soak } from './soak.ts';
import { start } from './start.ts';

const say = (text: string) => void process.stdout.write(`${text}\n`);

/** One thing that the bench measures; `word` is what stood behind its flag. */
interface Part {
  readonly limitMs: number;
  readonly run: (children: Children, directory: string, word: string) => Promise<Report>;
}

const MINUTE_MS = 60_000;

/** The parts by the flag that asks for them; without one the first three run. */
const PARTS: Readonly<Record<string, Part>> = {
  '--relay': {
    limitMs: 8 * MINUTE_MS,
    run: (children, folder) => relay(children, folder, DEFAULT_SCALE, false, say),
  },
  '--protocols': { limitMs: 7 * MINUTE_MS, run: protocols },
  '--registry': { limitMs: 2 * MINUTE_MS, run: benchRegistry },
  '--quick': {
    limitMs: 1.5 * MINUTE_MS,
    run: async (children, folder) => {
      const report = await relay(children, folder, QUICK_SCALE, false, say);
      const warning = 'Quick: few and short rounds; a figure near its bound proves nothing.';
      return { ...report, notes: [...report.notes, warning] };
    },
  },
  '--peers': {
    limitMs: 12 * MINUTE_MS,
    run: (children, folder) => relay(children, folder, DEFAULT_SCALE, true, say),
  },
  '--growth': {
    limitMs: 20 * MINUTE_MS,
    run: (children, folder, axis) => growth(children, folder, axis, say),
  },
  '--start': {
    limitMs: 10 * MINUTE_MS,
    run: (children, folder) => start(children, folder, say),
  },
  '--pool': {
    limitMs: 20 * MINUTE_MS,
    run: (children, folder, size) => pool(children, folder, size, say),
  },
  '--conversations': {
    limitMs: 40 * MINUTE_MS,
    run: (children, folder, machines) => conversations(children, folder, machines, say),
  },
  '--soak': { limitMs: 40 * MINUTE_MS, run: soak },
  '--idle': { limitMs: 6 * MINUTE_MS, run: idle },
  '--frames': { limitMs: 2 * MINUTE_MS, run: frames },
  '--against': {
    // Three minutes a pair beside other work, half a minute without.
    limitMs: 40 * MINUTE_MS,
    run: (children, folder, other) => against(children, folder, other, say),
  },
};
const DEFAULT_PARTS = ['--relay', '--protocols', '--registry'];

/** Runs a part with a folder and processes of its own, and says what it brought. */
async function play({ limitMs, run }: Part, word: string): Promise<readonly Bound[]> {
  const directory = mkdtempSync(join(tmpdir(), 'inglenook-bench-'));
  const children = createChildren();
  // Whatever throws on the way, no child is left.
  process.on('exit', children.killAll);
  const stopped = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Error(`not done after ${limitMs / 1000} s`)), limitMs).unref();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
  });
  try {
    const othersShare = watchOthers(children);
    const report = await Promise.race([run(children, directory, word), stopped]);
    const others = othersShare();
    say(`\n${reportText(report)}\n`);
    const percent = whole(100 * others);
    say(`Other programs used ${percent} % of the machine: the less, the firmer the figures.`);
    return report.bounds;
  } finally {
    await children.endAll();
    rmSync(directory, { recursive: true, force: true });
  }
}

try {
  if (process.platform !== 'linux')
    throw new Error('The bench needs Linux: it reads CPU time and memory of processes from /proc.');
  const [flag, word = ''] = process.argv.slice(2);
  const bounds: Bound[] = [];
  for (const name of flag === undefined ? DEFAULT_PARTS : [flag]) {
    const part = PARTS[name];
    if (part === undefined) throw new Error(`${name} is none of ${Object.keys(PARTS).join(' ')}`);
    bounds.push(...(await play(part, word)));
  }
  const { text, code } = conclusionOf(bounds);
  say(`\n${text}`);
  process.exit(code);
} catch (error) {
  // With its causes: `fetch failed` alone tells nothing.
  process.stderr.write(`bench failed: ${inspect(error)}\n`);
  process.exit(2);
}
