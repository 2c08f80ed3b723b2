/** From the start of the program to its first answers, beside warm ones: from source and from the package. */
import { existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { terminate, type Child, type Children } from './kit/children.ts';
import { median, quantile } from './kit/numbers.ts';
import { cpuMs } from './kit/proc.ts';
import { freePort, PACKAGE, passingFrom, SOURCE, startUpstream } from './kit/programs.ts';
import { askHealth, connect, createCheck, postOf, type Connection } from './load/exchange.ts';
import { WIRES } from './load/wires.ts';
import { bound, type Report } from './report.ts';

const PROGRAMS = { source: SOURCE, package: PACKAGE } as const;
const ROUNDS = 3;
const WARM_REQUESTS = 400;
/** A token comes so long after the one before it: no longer than it takes to start another stream. */
const PACE_MS = 2;
const WARM_STREAMS = 20;

/** Milliseconds of one start, by the columns of the table. */
type StartTimes = Awaited<ReturnType<typeof startOnce>>;

/** Runs it; the ways take turns. */
export async function start(
  children: Children,
  directory: string,
  say: (text: string) => void,
): Promise<Report> {
  if (!existsSync(PACKAGE)) throw new Error('first: npm run build');
  mkdirSync(directory, { recursive: true });
  const env = passingFrom(await startUpstream(children, PACE_MS));
  const all: Record<string, StartTimes[]> = {};
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of ['source', 'package'] as const) {
      // The second start finds what the first has compiled.
      const folder = mkdtempSync(join(directory, 'start-'));
      for (const way of [`${name}, first start`, name])
        (all[way] ??= []).push(await startOnce(children, PROGRAMS[name], folder, env));
    }
    say(`round ${round + 1} of ${ROUNDS}`);
  }
  const columns = Object.keys(all['package']?.[0] ?? {}) as (keyof StartTimes)[];
  const times = (way: string, column: keyof StartTimes) =>
    all[way]?.map((each) => each[column]) ?? [];
  const written = (ms: number) => ms.toFixed(ms < 10 ? 1 : 0);
  const spread = (way: string, column: keyof StartTimes) => {
    const [lower, upper] = [0.25, 0.75].map((q) => written(quantile(times(way, column), q)));
    return `${column} ${lower}–${upper}`;
  };
  return {
    intro: 'Milliseconds, medians of the starts.',
    tables: [
      [
        ['', ...columns],
        ...Object.keys(all).map((way) => [
          way,
          ...columns.map((column) => written(median(times(way, column)))),
        ]),
      ],
    ],
    notes: [
      `Quartiles of the package: ${columns.map((column) => spread('package', column)).join(', ')}.`,
      'Streams: added time to the first token.',
    ],
    bounds: [
      bound(
        'start of the package to `/healthz`',
        ' ms',
        median(times('package', 'to `/healthz`')),
        3000,
        300,
      ),
      bound('first request after it', ' ms', median(times('package', 'first request')), 500, 15),
    ],
  };
}

async function startOnce(
  children: Children,
  script: string,
  folder: string,
  env: Readonly<Record<string, string>>,
) {
  const port = await freePort();
  const begunAt = performance.now();
  const child = children.start('target', [process.execPath, script], {
    // In place of the folder that the program would take: this one is empty at the first start.
    NODE_COMPILE_CACHE: join(folder, 'cache'),
    INGLENOOK_DATA_DIR: join(folder, 'data'),
    INGLENOOK_PORT: String(port),
    INGLENOOK_AGENT: 'false',
    ...env,
  });
  child.process.stdout?.resume();
  child.process.stderr?.resume();
  await untilHealthy(child, port);
  // CPU time of all threads: a busy machine makes a start longer, this hardly.
  const [startCpuMs, healthMs] = [cpuMs(child.pid), performance.now() - begunAt];

  const firstAt = performance.now();
  const connection = connect(port);
  await ask(connection, 'plain');
  const firstRequestMs = performance.now() - firstAt;
  const firstTokenMs = await ask(connection, 'stream');
  const requests: number[] = [];
  for (let n = 0; n < WARM_REQUESTS; n += 1) {
    const askedAt = performance.now();
    await ask(connection, 'plain');
    requests.push(performance.now() - askedAt);
  }
  const tokens: number[] = [];
  for (let n = 0; n < WARM_STREAMS; n += 1) tokens.push(await ask(connection, 'stream'));

  // While another stream holds the connection to the upstream that was kept.
  const holding = ask(connection, 'stream');
  const another = connect(port);
  const coldTokenMs = await ask(another, 'stream');
  another.close();
  await holding;
  connection.close();
  await terminate(child);
  return {
    'to `/healthz`': healthMs,
    'its CPU time': startCpuMs,
    'first request': firstRequestMs,
    'warm request': median(requests.slice(-WARM_REQUESTS / 4)),
    'first stream': firstTokenMs,
    'cold connections': coldTokenMs,
    'warm stream': median(tokens),
  };
}

/** Looks every few milliseconds, for nobody knows when it begins to listen. */
async function untilHealthy(child: Child, port: number): Promise<void> {
  const endAt = performance.now() + 60_000;
  while (performance.now() < endAt && child.process.exitCode === null) {
    const connection = connect(port);
    const isUp = await askHealth(connection).then(
      () => true,
      () => false,
    );
    connection.close();
    if (isUp) return;
    await pause(5);
  }
  throw new Error(`the program did not answer on port ${port}; code ${child.process.exitCode}`);
}

/** One request; gives the added time to the first token of a stream, in milliseconds. */
async function ask(connection: Connection, kind: 'plain' | 'stream'): Promise<number> {
  const { path, plainRequest, streamRequest } = WIRES.chat;
  const check = createCheck(kind);
  await connection.ask(postOf(path, kind === 'stream' ? streamRequest : plainRequest), check);
  const problem = check.problem();
  if (problem !== null) throw new Error(problem);
  return (check.firstTokenUs() ?? 0) / 1000;
}
