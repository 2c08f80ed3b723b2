import type { Loader } from '../traffic/loader.ts';
import type { Job, Outcome } from '../traffic/load.ts';
import { messageOf } from '../../main/platform/errors.ts';
import type { Target } from '../kit/programs.ts';
import { COMPARED, type Compared, type OfCompared, type Targets } from './targets.ts';
import { TOKENS } from '../traffic/traffic.ts';

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
  rounds: 5,
  // On one core, with its compiler beside it, the gateway's time per request still falls after fifty thousand.
  warmUpRequests: 100_000,
  mostWarmUpMs: 15_000,
  // A compiler and a heap that stood still for the other targets' turns are cold for some tenths of a second.
  plainMs: 1500,
  plainConnections: 32,
  streams: 256,
  paceMs: 20,
  // The first of each connection find fewer beside them, the others all.
  streamsEach: 2,
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

/** What one round brought. */
export interface Round {
  readonly plain: OfCompared<Outcome>;
  readonly streams: OfCompared<Outcome>;
  readonly direct: Outcome;
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
  say: (text: string) => void,
): Promise<Round[]> {
  await warmUp(targets, loader, scale);
  const lost = new Set<Compared>();
  const rounds: Round[] = [];
  for (let index = 0; index < scale.rounds; index += 1) {
    rounds.push(await runRound(targets, loader, scale, { index, lost, say }));
    say(`round ${index + 1} of ${scale.rounds}`);
  }
  return rounds;
}

/** Whoever goes first meets the machine as another left it: they take turns in that as well. */
const inTurn = (index: number): readonly Compared[] => {
  const first = index % COMPARED.length;
  return [...COMPARED.slice(first), ...COMPARED.slice(0, first)];
};

/** How far the rounds are. */
interface Course {
  readonly index: number;
  /** Others that gave a wrong answer or none: what they had until then counts. */
  readonly lost: Set<Compared>;
  readonly say: (text: string) => void;
}

async function runRound(
  targets: Targets,
  loader: Loader,
  scale: Scale,
  { index, lost, say }: Course,
): Promise<Round> {
  const { direct, compared, gateway, assembling, failingOver, passingBy } = targets;
  const run = (name: string, target: Target, load: Load) => loader.run(name, jobFor(target, load));
  const runEach = async (load: Load): Promise<OfCompared<Outcome>> => {
    const outcomes: Partial<Record<Compared, Outcome>> = {};
    for (const name of inTurn(index)) {
      const target = compared[name];
      if (target === undefined || lost.has(name)) continue;
      try {
        outcomes[name] = await run(name, target, load);
      } catch (error) {
        if (name === 'bare' || name === 'gateway') throw error;
        lost.add(name);
        say(`LEFT OUT from here on: ${messageOf(error)}`);
      }
    }
    return outcomes;
  };
  const one = singleLoad(scale);
  return {
    plain: await runEach(plainLoad(scale)),
    direct: await run('direct', direct, streamLoad(scale)),
    streams: await runEach(streamLoad(scale)),
    assembled: await run('gateway, assembling', assembling, assembledLoad(scale)),
    single: {
      direct: await run('direct', direct, one),
      gateway: await run('gateway', gateway, one),
      failingOver: await run('gateway, failing over', failingOver, one),
      passingBy: await run('gateway, passing by', passingBy, one),
    },
  };
}

/** A just-in-time compiler needs its time before it is worth measuring. */
async function warmUp(targets: Targets, loader: Loader, scale: Scale): Promise<void> {
  const { compared, assembling, failingOver, passingBy } = targets;
  for (const name of COMPARED) {
    const target = compared[name];
    if (target === undefined) continue;
    await loader.run(`${name}, warm-up`, jobFor(target, plainWarmUp(scale)));
    await loader.run(`${name}, warm-up`, jobFor(target, streamLoad(scale)));
  }
  await loader.run('warm-up', jobFor(assembling, assembledLoad(scale)));
  await loader.run('warm-up', jobFor(failingOver, singleLoad(scale)));
  await loader.run('warm-up', jobFor(passingBy, singleLoad(scale)));
}

/** What is sent, whoever gets it. */
export type Load = Omit<Job, 'port' | 'pid' | 'headers'>;

/** A load for one target. */
export const jobFor = ({ port, child, headers = {} }: Target, load: Load): Job => ({
  ...load,
  headers,
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
