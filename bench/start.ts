/** The installed program: from its start to its first answers, and its memory while nobody asks for anything. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { terminate, type Children } from './kit/children.ts';
import { median } from './kit/numbers.ts';
import { rssMb } from './kit/proc.ts';
import { passingFrom, startGateway, startUpstream } from './kit/programs.ts';
import { connect, createCheck, type Connection } from './load/exchange.ts';
import { WIRE } from './load/wires.ts';
import { bound, type Report } from './report.ts';

const ROUNDS = 3;
const WARM_REQUESTS = 400;
const PACE_MS = 2;
/** Start-up and the first look for GPU and engine are no rest. */
const SETTLE_MS = 15_000;

/** Of one start, by the rows of the table. */
type StartFigures = Awaited<ReturnType<typeof startOnce>>;

export async function start(
  children: Children,
  directory: string,
  say: (text: string) => void,
): Promise<Report> {
  const env = passingFrom(await startUpstream(children, PACE_MS));
  const first: StartFigures[] = [];
  const later: StartFigures[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    // The second start finds what the first has compiled.
    const folder = mkdtempSync(join(directory, 'start-'));
    for (const figures of [first, later]) figures.push(await startOnce(children, folder, env));
    say(`round ${round + 1} of ${ROUNDS}`);
  }
  const middle = (all: readonly StartFigures[], row: keyof StartFigures) =>
    median(all.map((each) => each[row]));
  const rows = Object.keys(later[0] ?? {}) as (keyof StartFigures)[];
  return {
    intro: 'Medians of the starts.',
    table: [
      ['', 'first start', 'later starts'],
      ...rows.map((row) => [row, ...[first, later].map((all) => middle(all, row).toFixed(1))]),
    ],
    notes: [],
    bounds: [
      bound('start to sign-in link', ' ms', middle(later, 'to the sign-in link, ms'), 3000, 300),
      bound('first request after it', ' ms', middle(later, 'first request, ms'), 500, 15),
      bound('RSS at rest', ' MB', middle(later, 'RSS at rest, MB'), 150, 120),
    ],
  };
}

async function startOnce(
  children: Children,
  folder: string,
  passing: Readonly<Record<string, string>>,
) {
  const begunAt = performance.now();
  const env = {
    ...passing,
    INGLENOOK_AGENT: 'true',
    INGLENOOK_AGENT_PORTS: '0',
    // In place of the folder that the program would take: this one is empty at the first start.
    NODE_COMPILE_CACHE: join(folder, 'cache'),
  };
  const { child, port } = await startGateway(children, join(folder, 'data'), env);
  const startMs = performance.now() - begunAt;
  await pause(SETTLE_MS);
  const restMb = rssMb(child.pid);
  const connection = connect(port);
  const firstMs = await askMs(connection);
  const warm: number[] = [];
  for (let n = 0; n < WARM_REQUESTS; n += 1) warm.push(await askMs(connection));
  connection.close();
  await terminate(child);
  return {
    'to the sign-in link, ms': startMs,
    'first request, ms': firstMs,
    'warm request, ms': median(warm.slice(-WARM_REQUESTS / 4)),
    'RSS at rest, MB': restMb,
  };
}

async function askMs(connection: Connection): Promise<number> {
  const check = createCheck('plain');
  const askedAt = performance.now();
  await connection.ask(WIRE.plainRequest, check);
  const problem = check.problem();
  if (problem !== null) throw new Error(problem);
  return performance.now() - askedAt;
}
