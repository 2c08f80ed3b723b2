import { join } from 'node:path';
import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import packageJson from '../../package.json' with { type: 'json' };
import { codeOf } from './errors.ts';

/** The directory of package.json; sources and bundles (`dist/node`, `dist/desktop`) lie two levels below it. */
export const PACKAGE_ROOT = join(import.meta.dirname, '../..');

export const VERSION: string = packageJson.version;

/** The largest size of the garbage collector's nursery (V8's new space). */
const NURSERY_MB = 16;

/** The same while the program starts: loading makes much that dies at once, and no request waits yet. */
const NURSERY_AT_START_MB = 1;

/** How long starting takes at most, in seconds. */
const START_S = 10;

/**
 * Makes the pauses of the garbage collector short and more frequent, and keeps its nursery small. By default V8 lets
 * the nursery grow to twice 64 MB, all of which is resident sooner or later, and copying the live objects takes 15 to
 * 20 ms, in which 256 streams stand still; and it collects the old objects of a small heap so often that each busy
 * second has a pause of 10 ms. V8 reads these flags at each decision, so they may be set while the program runs
 * (Node's documentation of `v8` warns of flags in general).
 */
export function tuneGarbageCollector(): void {
  limitNursery();
  // The size itself can only be set where Node is started. It changes in collections: it grows, and is made smaller
  // when the program is idle. Only a turn of the event loop with several of them may still pass the limit.
  new PerformanceObserver(limitNursery).observe({ entryTypes: ['gc'] });
  // Percent of the nursery: about 13 MB, collected in 2 to 5 ms between two turns of the event loop. At 5 MB the
  // pauses are shorter still, but relaying an event costs a tenth more.
  setFlagsFromString('--minor-gc-task-trigger=80');
  // By default several threads collect it, which for one so small cost more than they save.
  setFlagsFromString('--no-parallel-scavenge');
  // V8 would come to allocate in the old generation what outlives short collections under load. Once dead, it keeps what it
  // refers to until a full one: of each request 8 KB, which takes about a tenth of its CPU.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // The old generation may grow to 2.5 times the live objects before it is collected. At 1.6 times, which takes 30 MB less
  // after 4,096 streams, it is collected twice as often, which is 3 % of a stream's CPU.
  setFlagsFromString('--heap-growing-percent=150');
  // undici's parser is WebAssembly. V8 would optimize it after twenty small responses, as heartbeats bring them, and for
  // that takes 20 MB that are not given back. Now it waits for some three thousand, which under load is a second.
  setFlagsFromString('--wasm-tiering-budget=2000000000');
}

let growthFactor = 2;

/** Sets the growth factor so that the next growth ends at the limit, and at the limit to 1, which is no growth. */
function limitNursery(): void {
  const nursery = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  // The space has two halves, between which the live objects are copied.
  const mb = Math.max(1, (nursery?.space_size ?? 0) / 2 ** 21);
  const limitMb = process.uptime() < START_S ? NURSERY_AT_START_MB : NURSERY_MB;
  const factor = Math.max(1, Math.floor(limitMb / mb));
  if (factor !== growthFactor) setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  growthFactor = factor;
}

export function processUsage() {
  const { user, system } = process.cpuUsage();
  return {
    residentBytes: process.memoryUsage.rss(),
    /** User and system time since the start. */
    cpuSeconds: (user + system) / 1e6,
    /** Since the epoch. */
    startedAtSeconds: performance.timeOrigin / 1000,
    /** Share of the time in which the event loop was busy. Its lag would need a timer, which wakes an idle process. */
    loopBusyRatio: performance.eventLoopUtilization().utilization,
  };
}

/** What a report of a problem says about this process. */
export function processFacts() {
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    uptimeSeconds: Math.round(process.uptime()),
  };
}

/** Whether a process of this machine has that id. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists, but belongs to another user.
    return codeOf(error) === 'EPERM';
  }
}

/** Scripts of package.json that run this program from a clone, where no `inglenook` is on the path. */
const SCRIPTS: ReadonlySet<string | undefined> = new Set([
  'start',
  'start:headless',
  'demo',
  'inglenook',
]);

/** How a user calls the command line of this installation. */
export const OWN_COMMAND = SCRIPTS.has(process.env['npm_lifecycle_event'])
  ? 'npm run inglenook --'
  : 'inglenook';
