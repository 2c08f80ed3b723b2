/** The registry under ten thousand machines that report every 15 s, in the whole headless program. */
import { mkdirSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { terminate, type Children } from '../kit/children.ts';
import { startLink } from '../kit/linked.ts';
import { median } from '../kit/numbers.ts';
import { cpuMs, rssMb } from '../kit/proc.ts';
import { askProbe, startProbedGateway } from '../kit/programs.ts';
import { makeDatabase } from './fleet.ts';
import type { AnswersOrder, AnswersReply } from './fleet-answers.ts';
import type { FleetOrder, FleetOutcome, FleetReply } from './fleet-load.ts';
import type { LoopDelay } from '../kit/loop-probe.ts';

/** What the registry's part of the bench brought. */
export interface RegistryFigures {
  readonly machines: number;
  /** From the start of the program until it answers. */
  readonly startMs: number;
  /** CPU time of the gateway while there was nothing but heartbeats and checks, in percent of one core. */
  readonly cpuPercent: number;
  readonly delay: LoopDelay;
  readonly statusMs: number;
  readonly pageMs: number;
  /** The whole list: the first time since the start, and then in general. */
  readonly firstListMs: number;
  readonly listMs: number;
  readonly listMb: number;
  readonly fleet: FleetFigures;
  readonly idleRssMb: number;
  readonly loadedRssMb: number;
}

/** How many machines, and for how long they are watched. */
export interface RegistryScale {
  readonly machines: number;
  /** Heartbeats alone: what was started last is compiled and the first connections are made. */
  readonly warmUpMs: number;
  /** Heartbeats alone still: the CPU time is of this time. */
  readonly aloneMs: number;
  /** Heartbeats, an open window, and the reports that are asked for: the delay is of this time. */
  readonly watchedMs: number;
}

export const REGISTRY_SCALE: RegistryScale = {
  machines: 10_000,
  warmUpMs: 3000,
  aloneMs: 5000,
  watchedMs: 16_000,
};

const HEARTBEAT_MS = 15_000;
/** Heartbeats and whole lists, one after the other. */
const LISTS = 5;
const LISTS_MS = 5000;

/** Runs it; the files go to `directory`. */
export async function benchRegistry(
  children: Children,
  directory: string,
  { machines, warmUpMs, aloneMs, watchedMs }: RegistryScale,
): Promise<RegistryFigures> {
  const dataDirectory = join(directory, 'registry');
  mkdirSync(dataDirectory, { mode: 0o700, recursive: true });
  await makeDatabase(dataDirectory, machines);
  const begunAt = performance.now();
  const gateway = await startProbedGateway(children, dataDirectory, {});
  const startMs = performance.now() - begunAt;
  const { child, port } = gateway;
  const url = `http://127.0.0.1:${port}`;
  const fleet = await startFleet(children, {
    ports: [port],
    directory: dataDirectory,
    machines,
    heartbeatMs: HEARTBEAT_MS,
    durationMs: warmUpMs + aloneMs + watchedMs + LISTS_MS,
  });
  const idleRssMb = rssMb(child.pid);
  const closeWindow = openWindow(url);
  await pause(warmUpMs);
  const cpuBefore = cpuMs(child.pid);
  await pause(aloneMs);
  const cpuPercent = (100 * (cpuMs(child.pid) - cpuBefore)) / aloneMs;
  await askProbe(gateway);
  const asked = await askWhile(watchedMs, url, machines);
  const delay = await askProbe(gateway);
  const lists = await askLists(url);
  const outcome = await fleet.outcome;
  await fleet.end();
  const loadedRssMb = rssMb(child.pid);
  closeWindow();
  await terminate(child);
  if (outcome.acknowledged < outcome.sent) {
    const counts = `${outcome.sent - outcome.acknowledged} of ${outcome.sent} heartbeats were not acknowledged`;
    throw new Error([counts, ...outcome.wrong].join('\n  '));
  }
  return {
    machines,
    startMs,
    cpuPercent,
    delay,
    ...asked,
    ...lists,
    fleet: outcome,
    idleRssMb,
    loadedRssMb,
  };
}

/** What the machines are told, and where they find the secret that the gateways' tokens are made from. */
interface FleetPlan extends FleetOrder {
  readonly directory: string;
}

/** What became of the machines' messages, and of the registry's. */
export interface FleetFigures extends FleetOutcome {
  /** Requests of the registry's checks that were answered as they should be. */
  readonly checked: number;
}

const fileOf = (name: string) => join(import.meta.dirname, name);

/** A process may have 20,000 descriptors here; a machine takes one for its address and one while it is asked. */
const MOST_ADDRESSES = 9000;

/** Starts the machines; resolves when they have begun. */
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
  const load = startLink<FleetReply>(children, fileOf('fleet-load.ts'));
  await load.ask(order);
  const sent = load.next().then(async (outcome): Promise<FleetFigures> => {
    const counts = await Promise.all(answering.map((child) => child.ask('count')));
    const checked = counts.reduce((sum, each) => sum + each.checked, 0);
    return { ...(outcome as FleetOutcome), checked };
  });
  // Whoever waits hears of it; before that it is nobody's unhandled rejection.
  sent.catch(() => {});
  /** Another fleet may follow, at the same addresses. */
  const end = async () => {
    await Promise.all([load, ...answering].map((child) => child.end()));
  };
  return { outcome: sent, end };
}

/** Reads the live feed as an open window does. */
function openWindow(url: string): () => void {
  const req = get(`${url}/api/v1/events`, (res) => res.resume().on('error', () => {}));
  req.on('error', () => {});
  return () => req.destroy();
}

/** Asks for the status report and a page of the list in turn; medians. */
async function askWhile(durationMs: number, url: string, machines: number) {
  const statuses: number[] = [];
  const pages: number[] = [];
  const endAt = performance.now() + durationMs;
  for (let page = 0; performance.now() < endAt; page += 1) {
    statuses.push((await fetchTimed(`${url}/api/v1/status`)).ms);
    const offset = (page * 50) % machines;
    pages.push((await fetchTimed(`${url}/api/v1/providers?limit=50&offset=${offset}`)).ms);
    await pause(250);
  }
  return { statusMs: median(statuses), pageMs: median(pages) };
}

async function askLists(url: string) {
  const lists: number[] = [];
  let bytes = 0;
  for (let n = 0; n < LISTS; n += 1) {
    const { ms, body } = await fetchTimed(`${url}/api/v1/providers`);
    lists.push(ms);
    bytes = body.length;
    await pause(LISTS_MS / LISTS - 300);
  }
  const firstListMs = lists[0] ?? Number.NaN;
  return { firstListMs, listMs: median(lists), listMb: bytes / 1024 ** 2 };
}

export function fetchTimed(url: string): Promise<{ readonly ms: number; readonly body: Buffer }> {
  return new Promise((resolve, reject) => {
    const begunAt = performance.now();
    get(url, (res) => {
      const parts: Buffer[] = [];
      res.on('data', (part: Buffer) => parts.push(part));
      res.on('error', reject);
      res.on('end', () => {
        const ms = performance.now() - begunAt;
        if (res.statusCode === 200) resolve({ ms, body: Buffer.concat(parts) });
        else reject(new Error(`GET ${url}: ${res.statusCode}`));
      });
    }).on('error', reject);
  });
}

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
