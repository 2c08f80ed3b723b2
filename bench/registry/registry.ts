/** The registry under machines that report every 15 s, in the whole headless program. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startLink, terminate, type Children } from '../kit/children.ts';
import { median } from '../kit/numbers.ts';
import { cpuMs, rssMb } from '../kit/proc.ts';
import { askProbe, getFrom, openWindow, startGateway } from '../kit/programs.ts';
import { bound, short, whole, type Report } from '../report.ts';
import { makeDatabase } from './fleet.ts';
import type { AnswersOrder, AnswersReply } from './fleet-answers.ts';
import type { FleetOrder, FleetOutcome } from './fleet-load.ts';

/** How many machines, and for how long they are watched. */
interface RegistryScale {
  readonly machines: number;
  /** Heartbeats alone: what was started last is compiled and the first connections are made. */
  readonly warmUpMs: number;
  /** Heartbeats alone still: the CPU time is of this time. */
  readonly aloneMs: number;
  /** Heartbeats, an open window, and the reports that are asked for: the delay is of this time. */
  readonly watchedMs: number;
}

const SCALE: RegistryScale = {
  machines: 10_000,
  warmUpMs: 3000,
  aloneMs: 5000,
  watchedMs: 16_000,
};

const HEARTBEAT_MS = 15_000;
/** Heartbeats and whole lists, one after the other. */
const LISTS = 5;
const LISTS_MS = 5000;

/** Ten thousand machines. */
export async function benchRegistry(children: Children, directory: string): Promise<Report> {
  const figures = await measureRegistry(children, directory, SCALE);
  const { delay, fleet } = figures;
  return {
    intro: `Registry: ${SCALE.machines} machines, a heartbeat every 15 s each, a window open, checks going on.`,
    tables: [],
    notes: [
      `Event loop late: p50 ${short(delay.p50Ms)} ms, most ${short(delay.mostMs)} ms. Heartbeats: ${fleet.acknowledged} of ${fleet.sent} acknowledged, p50 ${short(fleet.ackP50Ms)} ms, p99 ${short(fleet.ackP99Ms)} ms; ${fleet.checked} checks answered.`,
      `First list ${whole(figures.firstListMs)} ms (${short(figures.listMb)} MB). Start ${whole(figures.startMs)} ms. CPU ${short(figures.cpuPercent)} % of a core for heartbeats and checks alone. RSS ${whole(figures.idleRssMb)} MB idle, ${whole(figures.loadedRssMb)} MB loaded.`,
    ],
    bounds: [
      bound('event loop late, p99', ' ms', delay.p99Ms, 20),
      bound('the whole list', ' ms', figures.listMs, 150),
      bound('a page of 50', ' ms', figures.pageMs, 5),
      bound('status report', ' ms', figures.statusMs, 50),
    ],
  };
}

/** Runs it; the files go to `directory`. Times in ms, memory in MB, CPU time in percent of one core. */
export async function measureRegistry(
  children: Children,
  directory: string,
  { machines, warmUpMs, aloneMs, watchedMs }: RegistryScale,
) {
  const dataDirectory = join(directory, 'registry');
  mkdirSync(dataDirectory, { mode: 0o700, recursive: true });
  await makeDatabase(dataDirectory, machines);
  const begunAt = performance.now();
  const gateway = await startGateway(children, dataDirectory, {}, { isProbed: true });
  const startMs = performance.now() - begunAt;
  const { child, port } = gateway;
  const fleet = await startFleet(children, {
    ports: [port],
    directory: dataDirectory,
    machines,
    heartbeatMs: HEARTBEAT_MS,
    durationMs: warmUpMs + aloneMs + watchedMs + LISTS_MS,
  });
  const idleRssMb = rssMb(child.pid);
  const feed = await openWindow(gateway);
  await pause(warmUpMs);
  const cpuBefore = cpuMs(child.pid);
  await pause(aloneMs);
  const cpuPercent = (100 * (cpuMs(child.pid) - cpuBefore)) / aloneMs;
  await askProbe(gateway);
  const asked = await askWhile(port, watchedMs, machines);
  const delay = await askProbe(gateway);
  const lists = await askLists(port);
  const outcome = await fleet.outcome;
  await fleet.end();
  const loadedRssMb = rssMb(child.pid);
  feed.close();
  await terminate(child);
  if (outcome.acknowledged < outcome.sent) {
    const counts = `${outcome.sent - outcome.acknowledged} of ${outcome.sent} heartbeats were not acknowledged`;
    throw new Error([counts, ...outcome.wrong].join('\n  '));
  }
  return { startMs, cpuPercent, delay, ...asked, ...lists, fleet: outcome, idleRssMb, loadedRssMb };
}

/** What the machines are told, and where they find the secret that the gateways' tokens are made from. */
interface FleetPlan extends FleetOrder {
  readonly directory: string;
}

const fileOf = (name: string) => join(import.meta.dirname, name);

/** A process may have 20,000 descriptors here; a machine takes one for its address and one while it is asked. */
const MOST_ADDRESSES = 9000;

/** Starts the machines; resolves when they have begun. `checked`: how many checks of the registry were answered. */
export async function startFleet(children: Children, { directory, ...order }: FleetPlan) {
  const { machines } = order;
  const answering = await Promise.all(
    Array.from({ length: Math.ceil(machines / MOST_ADDRESSES) }, async (_, at) => {
      const from = at * MOST_ADDRESSES;
      const to = Math.min(machines, from + MOST_ADDRESSES);
      const child = startLink<AnswersReply>(children, fileOf('fleet-answers.ts'));
      await child.ask({ from, to, directory } satisfies AnswersOrder);
      return child;
    }),
  );
  const load = startLink<'ready' | FleetOutcome>(children, fileOf('fleet-load.ts'));
  await load.ask(order);
  const outcome = load.next().then(async (sent) => {
    const counts = await Promise.all(answering.map((child) => child.ask('count')));
    const checked = counts.reduce((sum, each) => sum + each.checked, 0);
    return { ...(sent as FleetOutcome), checked };
  });
  // The promise that waits for it rejects; until then it must not be an unhandled rejection.
  outcome.catch(() => {});
  /** Another fleet may follow, at the same addresses. */
  const end = async () => {
    await Promise.all([load, ...answering].map((child) => child.end()));
  };
  return { outcome, end };
}

async function fetchTimed(port: number, path: string) {
  const begunAt = performance.now();
  const bytes = (await (await getFrom(port, `/api/v1/${path}`)).arrayBuffer()).byteLength;
  return { ms: performance.now() - begunAt, bytes };
}

/** Asks for the status report and a page of the list in turn; medians. */
async function askWhile(port: number, durationMs: number, machines: number) {
  const statuses: number[] = [];
  const pages: number[] = [];
  const endAt = performance.now() + durationMs;
  for (let page = 0; performance.now() < endAt; page += 1) {
    statuses.push((await fetchTimed(port, 'status')).ms);
    const offset = (page * 50) % machines;
    pages.push((await fetchTimed(port, `providers?limit=50&offset=${offset}`)).ms);
    await pause(250);
  }
  return { statusMs: median(statuses), pageMs: median(pages) };
}

/** The whole list: the first time since the start, and then in general. */
async function askLists(port: number) {
  const lists: Awaited<ReturnType<typeof fetchTimed>>[] = [];
  for (let n = 0; n < LISTS; n += 1) {
    lists.push(await fetchTimed(port, 'providers'));
    await pause(LISTS_MS / LISTS - 300);
  }
  const [first] = lists;
  return {
    firstListMs: first?.ms ?? Number.NaN,
    listMs: median(lists.map(({ ms }) => ms)),
    listMb: (first?.bytes ?? Number.NaN) / 1024 ** 2,
  };
}
