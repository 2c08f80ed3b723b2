/** How many callers the gateway holds at once: ten thousand that are silent, then five thousand streams. */
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Children } from './children.ts';
import { startLoader } from './loader.ts';
import { quantile } from './numbers.ts';
import { rssMb } from './proc.ts';
import { startGateway, startUpstream } from './targets.ts';

/** What one phase brought. */
export interface PhaseFigures {
  readonly connections: number;
  /** The most that was seen. */
  readonly rssMb: number;
  /** Times of `GET /healthz`. */
  readonly healthP50Ms: number;
  readonly healthP99Ms: number;
}

export interface ConnectionFigures {
  readonly before: PhaseFigures;
  readonly idle: PhaseFigures;
  readonly streams: PhaseFigures & {
    readonly events: number;
    readonly cpuUsPerEvent: number;
    readonly firstTokenP50Ms: number;
    readonly firstTokenP99Ms: number;
  };
}

const IDLE = 10_000;
const STREAMS = 5000;
/** Opened at a time: more would overflow the queue of the listening socket. */
const BATCH = 250;
/** Between two tokens of a stream, which so lasts for half a minute. */
const PACE_MS = 500;
/** The streams begin evenly over this time. */
const SPREAD_MS = 10_000;
const STREAMS_MS = 90_000;
/** Looks in the phases without load, and the pause between two looks. */
const LOOKS = 100;
const LOOK_MS = 50;

/** The phases one after the other: a descriptor limit of 20,000 allows for either of them. */
export async function connections(
  children: Children,
  directory: string,
): Promise<ConnectionFigures> {
  const upstreamPort = await startUpstream(children, PACE_MS);
  const { port, child } = await startGateway(children, join(directory, 'gateway'), {
    SWITCHYARD_HOSTED_A_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1`,
    // A shared machine may make every stream late, and none of them is to be asked for twice.
    SWITCHYARD_HEDGE: 'off',
    SWITCHYARD_TTFT_THRESHOLD_MS: '60000',
  });
  const { pid } = child;
  const loader = await startLoader(children);
  const before = await watched({ port, pid, connections: 0 }, looks(LOOKS));

  const kept: Asker[] = [];
  while (kept.length < IDLE) {
    kept.push(...(await Promise.all(Array.from({ length: BATCH }, () => asking(port)))));
  }
  const idle = await watched({ port, pid, connections: kept.length }, looks(LOOKS));
  for (const { close } of kept) close();

  const load = { kind: 'stream', port, pid, connections: STREAMS, spreadMs: SPREAD_MS } as const;
  const streaming = loader.run('connections', { ...load, requestsEach: 1, ms: STREAMS_MS });
  const streams = await watched({ port, pid, connections: STREAMS }, until(streaming));
  const outcome = await streaming;
  const firstTokenMs = (share: number) => quantile(outcome.firstTokensUs, share) / 1000;
  return {
    before,
    idle,
    streams: {
      ...streams,
      events: outcome.events,
      cpuUsPerEvent: (1000 * (outcome.cpuMs ?? Number.NaN)) / outcome.events,
      firstTokenP50Ms: firstTokenMs(0.5),
      firstTokenP99Ms: firstTokenMs(0.99),
    },
  };
}

/** Asks for `/healthz` as long as `isOn`, and looks at the memory. */
async function watched(
  { port, pid, connections: count }: { port: number; pid: number; connections: number },
  isOn: () => boolean,
): Promise<PhaseFigures> {
  const asker = await asking(port);
  const tookMs: number[] = [];
  let most = 0;
  while (isOn()) {
    const askedAt = performance.now();
    await asker.ask();
    tookMs.push(performance.now() - askedAt);
    most = Math.max(most, rssMb(pid));
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  asker.close();
  return {
    connections: count,
    rssMb: most,
    healthP50Ms: quantile(tookMs, 0.5),
    healthP99Ms: quantile(tookMs, 0.99),
  };
}

function looks(count: number): () => boolean {
  let left = count;
  return () => left-- > 0;
}

function until(work: Promise<unknown>): () => boolean {
  let isDone = false;
  void work
    .catch(() => {})
    .finally(() => {
      isDone = true;
    });
  return () => !isDone;
}

interface Asker {
  readonly ask: () => Promise<void>;
  readonly close: () => void;
}

/** A kept connection that has had its first answer. */
async function asking(port: number): Promise<Asker> {
  const request = `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  let answered: (error?: Error) => void = () => {};
  let got = '';
  socket.on('data', (piece) => {
    got += piece.toString('latin1');
    if (!got.endsWith('}')) return;
    const isOk = got.startsWith('HTTP/1.1 200 ');
    got = '';
    answered(isOk ? undefined : new Error('/healthz is not well'));
  });
  socket.on('error', (error) => answered(error));
  socket.on('close', () => answered(new Error('the gateway closed a connection')));
  const ask = () =>
    new Promise<void>((resolve, reject) => {
      answered = (error) => (error === undefined ? resolve() : reject(error));
      socket.write(request);
    });
  await ask();
  return { ask, close: () => socket.destroy() };
}
