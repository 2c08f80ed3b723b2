import type { Loader } from './loader.ts';
import type { Job, Outcome } from './load.ts';
import type { Target, Targets } from './targets.ts';
import { TOKENS } from './traffic.ts';

/** How much load one run of the bench makes. */
export interface Scale {
  readonly rounds: number;
  readonly warmUpRequests: number;
  readonly mostWarmUpMs: number;
  readonly plainMs: number;
  readonly plainConnections: number;
  readonly streams: number;
  /** Time between two content events of a stream. */
  readonly paceMs: number;
  /** Streams on each connection, one after the other. */
  readonly streamsEach: number;
  readonly assembledStreams: number;
  readonly failovers: number;
}

export const DEFAULT_SCALE: Scale = {
  rounds: 7,
  warmUpRequests: 20_000,
  mostWarmUpMs: 6000,
  // A compiler and a heap that stood still for the other targets' turns are cold for some tenths of a second.
  plainMs: 2000,
  plainConnections: 32,
  streams: 256,
  paceMs: 20,
  // The first of each connection find fewer beside them, the others all.
  streamsEach: 3,
  assembledStreams: 128,
  failovers: 200,
};

/** For a first look: few short rounds; fewer streams at a quicker pace bring about as many events. */
export const QUICK_SCALE: Scale = {
  rounds: 3,
  warmUpRequests: 4000,
  mostWarmUpMs: 1500,
  plainMs: 400,
  plainConnections: 32,
  streams: 96,
  paceMs: 8,
  streamsEach: 1,
  assembledStreams: 48,
  failovers: 100,
};

/** Targets whose CPU time is compared with each other. */
export type Compared = 'bare' | 'nginx' | 'gateway';

/** What one round brought; null for a target that is not there. */
export interface Round {
  readonly plain: Readonly<Record<Compared, Outcome | null>>;
  readonly streams: Readonly<Record<Compared, Outcome | null>> & { readonly direct: Outcome };
  readonly assembled: Outcome;
  /** One request after the other: directly, through the gateway, and past a refusing `local`. */
  readonly single: Readonly<Record<'direct' | 'gateway' | 'failingOver' | 'passingBy', Outcome>>;
}

const streamMs = (scale: Scale) => TOKENS * scale.paceMs;
/** No job asks for more, so that none runs away. */
const MOST_REQUESTS_EACH = 1_000_000;

/** Runs rounds, the targets taking turns within each: drift of the machine meets all alike. */
export async function runRounds(
  targets: Targets,
  loader: Loader,
  scale: Scale,
  onRound: (done: number) => void,
): Promise<Round[]> {
  await warmUp(targets, loader, scale);
  const rounds: Round[] = [];
  for (let index = 0; index < scale.rounds; index += 1) {
    rounds.push(await runRound(targets, loader, scale));
    onRound(index + 1);
  }
  return rounds;
}

async function runRound(targets: Targets, loader: Loader, scale: Scale): Promise<Round> {
  const { direct, bare, nginx, gateway, assembling, failingOver, passingBy } = targets;
  const run = async (name: string, target: Target | null, load: Load) =>
    target === null ? null : loader.run(name, jobFor(target, load));
  const must = (name: string, target: Target, load: Load) => loader.run(name, jobFor(target, load));
  const plain = plainLoad(scale);
  const streams = streamLoad(scale);
  const one = singleLoad(scale);
  return {
    plain: {
      bare: await run('bare', bare, plain),
      nginx: await run('nginx', nginx, plain),
      gateway: await run('gateway', gateway, plain),
    },
    streams: {
      direct: await must('direct', direct, streams),
      bare: await run('bare', bare, streams),
      nginx: await run('nginx', nginx, streams),
      gateway: await run('gateway', gateway, streams),
    },
    assembled: await must('gateway, assembling', assembling, assembledLoad(scale)),
    single: {
      direct: await must('direct', direct, one),
      gateway: await must('gateway', gateway, one),
      failingOver: await must('gateway, failing over', failingOver, one),
      passingBy: await must('gateway, passing by', passingBy, one),
    },
  };
}

/** A just-in-time compiler needs its time before it is worth measuring. */
async function warmUp(targets: Targets, loader: Loader, scale: Scale): Promise<void> {
  const { bare, nginx, gateway, assembling, failingOver, passingBy } = targets;
  for (const target of [bare, nginx, gateway]) {
    if (target === null) continue;
    await loader.run('warm-up', jobFor(target, plainWarmUp(scale)));
    await loader.run('warm-up', jobFor(target, streamLoad(scale)));
  }
  await loader.run('warm-up', jobFor(assembling, assembledLoad(scale)));
  await loader.run('warm-up', jobFor(failingOver, singleLoad(scale)));
  await loader.run('warm-up', jobFor(passingBy, singleLoad(scale)));
}

/** What is sent, whoever gets it. */
export type Load = Omit<Job, 'port' | 'pid'>;

/** A load for one target. */
export const jobFor = ({ port, child }: Target, load: Load): Job => ({
  ...load,
  port,
  pid: child?.pid ?? null,
});

/** As many requests as the target can take, each connection one after the other. */
export const plainLoad = (scale: Scale): Load => ({
  kind: 'plain',
  connections: scale.plainConnections,
  spreadMs: 0,
  requestsEach: MOST_REQUESTS_EACH,
  ms: scale.plainMs,
});

/** Counted, for a compiler counts calls; on a busy machine the time would not be enough. */
export const plainWarmUp = (scale: Scale): Load => ({
  ...plainLoad(scale),
  requestsEach: Math.ceil(scale.warmUpRequests / scale.plainConnections),
  ms: scale.mostWarmUpMs,
});

/** Starts spread over one stream's length: from then on all connections have a stream, evenly. */
export const streamLoad = (scale: Scale): Load => ({
  kind: 'stream',
  connections: scale.streams,
  spreadMs: streamMs(scale),
  requestsEach: scale.streamsEach,
  ms: streamMs(scale) * (scale.streamsEach + 2),
});

const assembledLoad = (scale: Scale): Load => ({
  kind: 'assembled',
  connections: scale.assembledStreams,
  spreadMs: streamMs(scale),
  requestsEach: 1,
  ms: streamMs(scale) * 3,
});

const singleLoad = (scale: Scale): Load => ({
  kind: 'plain',
  connections: 1,
  spreadMs: 0,
  requestsEach: scale.failovers,
  ms: 5000,
});
