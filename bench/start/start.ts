/** From the start of the program to its first answers, beside warm ones: from source and from the package. */
import { existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { terminate, type Child, type Children } from '../kit/children.ts';
import { median, spreadOf, type Spread } from '../kit/numbers.ts';
import { freePort } from '../kit/ports.ts';
import { cpuMs } from '../kit/proc.ts';
import { PACKAGE, startUpstream } from '../kit/programs.ts';
import { createCheck, type AnswerKind } from '../traffic/checks.ts';
import { connect, postBytes, type Connection } from '../traffic/client.ts';
import { CHAT_PATH, PLAIN_REQUEST, STREAM_REQUEST } from '../traffic/traffic.ts';

/** How the program is started. */
export const WAYS = ['source, first start', 'source', 'package, first start', 'package'] as const;
export type Way = (typeof WAYS)[number];

/** Times of one start, in milliseconds. */
interface StartTimes {
  /** From the start of the process until `/healthz` answers. */
  readonly healthMs: number;
  /** CPU time until then, of all threads: a busy machine makes a start longer, this hardly. */
  readonly cpuMs: number;
  /** The very first request, its connection included, and the median of warm ones. */
  readonly firstRequestMs: number;
  readonly warmRequestMs: number;
  /** Added time to the first token: of the very first stream, … */
  readonly firstTokenMs: number;
  /** … of one on a new connection to the gateway that needs a new one to the upstream, and of warm ones. */
  readonly coldTokenMs: number;
  readonly warmTokenMs: number;
}

/** The same over several starts. */
export type StartFigures = Readonly<Record<Way, Readonly<Record<keyof StartTimes, Spread>>>>;

const ROUNDS = 3;
const WARM_REQUESTS = 400;
/** A token comes so long after the one before it: no longer than it takes to start another stream. */
const PACE_MS = 2;
const WARM_STREAMS = 20;
const ROOT = join(import.meta.dirname, '../..');
const PROGRAMS = { source: join(ROOT, 'main/headless.ts'), package: PACKAGE } as const;

/** Runs it; the ways take turns. */
export async function start(
  children: Children,
  directory: string,
  onRound: (done: number, rounds: number) => void,
): Promise<StartFigures> {
  if (!existsSync(PACKAGE)) throw new Error('first: npm run build');
  mkdirSync(directory, { recursive: true });
  const upstreamPort = await startUpstream(children, PACE_MS);
  const all: Record<Way, StartTimes[]> = {
    'source, first start': [],
    source: [],
    'package, first start': [],
    package: [],
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of ['source', 'package'] as const) {
      // The second start finds what the first has compiled.
      const folder = mkdtempSync(join(directory, 'start-'));
      for (const way of [`${name}, first start`, name] as const) {
        all[way].push(await startOnce(children, { name, folder, upstreamPort }));
      }
    }
    onRound(round + 1, ROUNDS);
  }
  const spreads = (times: readonly StartTimes[]) => {
    const of = (key: keyof StartTimes): Spread =>
      spreadOf(times.map((one) => one[key])) ?? { value: NaN, lower: NaN, upper: NaN };
    return {
      healthMs: of('healthMs'),
      cpuMs: of('cpuMs'),
      firstRequestMs: of('firstRequestMs'),
      warmRequestMs: of('warmRequestMs'),
      firstTokenMs: of('firstTokenMs'),
      coldTokenMs: of('coldTokenMs'),
      warmTokenMs: of('warmTokenMs'),
    };
  };
  return {
    'source, first start': spreads(all['source, first start']),
    source: spreads(all.source),
    'package, first start': spreads(all['package, first start']),
    package: spreads(all.package),
  };
}

async function startOnce(
  children: Children,
  {
    name,
    folder,
    upstreamPort,
  }: {
    readonly name: keyof typeof PROGRAMS;
    readonly folder: string;
    readonly upstreamPort: number;
  },
): Promise<StartTimes> {
  const port = await freePort();
  const begunAt = performance.now();
  const child = children.start('target', [process.execPath, PROGRAMS[name]], {
    // In place of the folder that the program would take: this one is empty at the first start.
    NODE_COMPILE_CACHE: join(folder, 'cache'),
    SWITCHYARD_DATA_DIR: join(folder, 'data'),
    SWITCHYARD_PORT: String(port),
    SWITCHYARD_AGENT: 'false',
    SWITCHYARD_HOSTED_A_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1`,
    SWITCHYARD_HOSTED_A_ASSEMBLE: 'false',
  });
  child.process.stdout?.resume();
  child.process.stderr?.resume();
  await untilHealthy(child, port);
  const startCpuMs = cpuMs(child.pid);
  const healthMs = performance.now() - begunAt;

  const firstAt = performance.now();
  const connection = await connect(port);
  await ask(connection, port, 'plain');
  const firstRequestMs = performance.now() - firstAt;
  const firstTokenMs = await ask(connection, port, 'stream');

  const requests: number[] = [];
  for (let n = 0; n < WARM_REQUESTS; n += 1) {
    const askedAt = performance.now();
    await ask(connection, port, 'plain');
    requests.push(performance.now() - askedAt);
  }
  const tokens: number[] = [];
  for (let n = 0; n < WARM_STREAMS; n += 1) tokens.push(await ask(connection, port, 'stream'));
  const coldTokenMs = await coldStream(connection, port);
  connection.close();
  await terminate(child);
  return {
    healthMs,
    cpuMs: startCpuMs,
    firstRequestMs,
    warmRequestMs: median(requests.slice(-WARM_REQUESTS / 4)),
    firstTokenMs,
    coldTokenMs,
    warmTokenMs: median(tokens),
  };
}

const LOOK_MS = 5;
const MOST_MS = 60_000;

/** Looks every few milliseconds, for nobody knows when it begins to listen. */
async function untilHealthy(child: Child, port: number): Promise<void> {
  const endAt = performance.now() + MOST_MS;
  const request = Buffer.from(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
  while (performance.now() < endAt && child.process.exitCode === null) {
    const connection = await connect(port).catch(() => null);
    if (connection !== null) {
      await connection.ask(request, { onStatus() {}, onBody() {} });
      connection.close();
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  throw new Error(`the program did not answer on port ${port}; code ${child.process.exitCode}`);
}

/** One request; gives the added time to the first token of a stream. */
async function ask(connection: Connection, port: number, kind: AnswerKind): Promise<number> {
  const body = kind === 'stream' ? STREAM_REQUEST : PLAIN_REQUEST;
  const check = createCheck(kind);
  await connection.ask(postBytes({ port, path: CHAT_PATH, extra: {} }, body), check);
  const problem = check.problem();
  if (problem !== null) throw new Error(problem);
  return (check.firstTokenUs() ?? 0) / 1000;
}

/** While another stream holds the connection to the upstream that was kept. */
async function coldStream(held: Connection, port: number): Promise<number> {
  const holding = ask(held, port, 'stream');
  const connection = await connect(port);
  const tokenMs = await ask(connection, port, 'stream');
  connection.close();
  await holding;
  return tokenMs;
}
