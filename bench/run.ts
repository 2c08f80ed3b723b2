/**
 * `npm run bench`: the gateway beside *bare* (node:http in, an undici.Pool out), in front of one fake upstream, as
 * ratios of one run. `--quick` does it roughly; `--start` measures the start of the package and its memory at rest.
 * Ends with 0 where all bounds hold, with 1 where one is broken, and with 2 where it could not measure. A missed aim
 * is said, and changes nothing.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { createChildren, type Children } from './kit/children.ts';
import { DEFAULT_SCALE, QUICK_SCALE, relay } from './relay/relay.ts';
import { conclusionOf, reportText, type Report } from './report.ts';
import { start } from './start.ts';

const say = (text: string) => void process.stdout.write(`${text}\n`);

/** One thing that the bench measures. */
interface Part {
  readonly limitMs: number;
  readonly run: (children: Children, directory: string) => Promise<Report>;
}

const MINUTE_MS = 60_000;

const RELAY: Part = {
  limitMs: 8 * MINUTE_MS,
  run: (children, folder) => relay(children, folder, DEFAULT_SCALE, say),
};
const QUICK: Part = {
  limitMs: 1.5 * MINUTE_MS,
  run: async (children, folder) => {
    const report = await relay(children, folder, QUICK_SCALE, say);
    const warning = 'Quick: few and short rounds; a figure near its bound proves nothing.';
    return { ...report, notes: [...report.notes, warning] };
  },
};
const START: Part = {
  limitMs: 10 * MINUTE_MS,
  run: (children, folder) => start(children, folder, say),
};

/** The parts by the flag that asks for them. */
const PARTS = new Map<string | undefined, Part>([
  [undefined, RELAY],
  ['--quick', QUICK],
  ['--start', START],
]);

/** Runs a part with a folder and processes of its own, and says what it brought. */
async function play({ limitMs, run }: Part): Promise<Report> {
  const directory = mkdtempSync(join(tmpdir(), 'inglenook-bench-'));
  const children = createChildren();
  say(`Load of the machine before: ${loadavg()[0]}; the less, the firmer the figures.`);
  // Whatever throws on the way, no child is left.
  process.on('exit', children.killAll);
  const stopped = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Error(`not done after ${limitMs / 1000} s`)), limitMs).unref();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
  });
  try {
    const report = await Promise.race([run(children, directory), stopped]);
    say(`\n${reportText(report)}`);
    return report;
  } finally {
    await children.endAll();
    rmSync(directory, { recursive: true, force: true });
  }
}

try {
  if (process.platform !== 'linux')
    throw new Error('The bench needs Linux: it reads CPU time and memory of processes from /proc.');
  const flag = process.argv[2];
  const part = PARTS.get(flag);
  if (part === undefined) throw new Error(`${flag} is neither --quick nor --start`);
  const { bounds } = await play(part);
  const { text, code } = conclusionOf(bounds);
  say(`\n${text}`);
  process.exit(code);
} catch (error) {
  // With its causes: `fetch failed` alone tells nothing.
  process.stderr.write(`bench failed: ${inspect(error)}\n`);
  process.exit(2);
}
