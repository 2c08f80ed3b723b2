/** The gateway beside a proxy that looks at nothing, in front of one fake upstream. */
import { join } from 'node:path';
import type { Children } from '../kit/children.ts';
import { median, quantile } from '../kit/numbers.ts';
import { rssMb } from '../kit/proc.ts';
import { passingFrom, startBare, startGateway, startUpstream } from '../kit/programs.ts';
import { cpuUsPer, startLoader, type Load, type Outcome } from '../load/loader.ts';
import { TOKENS } from '../load/wires.ts';
import { bound, short, spreadText, type Report } from '../report.ts';

/** How much load one run of the bench makes. */
interface Scale {
  readonly rounds: number;
  readonly warmUpRequests: number;
  readonly mostWarmUpMs: number;
  readonly plainMs: number;
  readonly streams: number;
  /** Time between two content events of a stream. */
  readonly paceMs: number;
  /** Streams on each connection, one after the other. */
  readonly streamsEach: number;
  readonly briefStreamsEach: number;
  readonly longStreams: number;
}

export const DEFAULT_SCALE: Scale = {
  rounds: 5,
  // On one core, with its compiler beside it, the gateway's time per request still falls after fifty thousand.
  warmUpRequests: 100_000,
  mostWarmUpMs: 15_000,
  // A compiler and a heap that stood still for the other targets' turns are cold for some tenths of a second.
  plainMs: 1500,
  streams: 256,
  paceMs: 20,
  // The first of each connection find fewer beside them, the others all.
  streamsEach: 2,
  // After 2,560 streams, compiling the gateway's part of one still took 4 % of the CPU; 20,480 brief ones take 7 s.
  briefStreamsEach: 80,
  longStreams: 64,
};

/** For a first look: few short rounds; fewer streams at a quicker pace bring about as many events. */
export const QUICK_SCALE: Scale = {
  rounds: 3,
  warmUpRequests: 4000,
  mostWarmUpMs: 1500,
  plainMs: 400,
  streams: 96,
  paceMs: 8,
  streamsEach: 1,
  briefStreamsEach: 8,
  longStreams: 48,
};

const PLAIN_CONNECTIONS = 32;

/** As many requests as the target can take, each connection one after the other. */
const plainLoad = ({ plainMs }: Scale): Load => ({
  kind: 'plain',
  connections: PLAIN_CONNECTIONS,
  spreadMs: 0,
  // So that none runs away.
  requestsEach: 1_000_000,
  ms: plainMs,
});

/** Counted, for a compiler counts calls; on a busy machine the time would not be enough. */
const warmUpLoad = (scale: Scale): Load => ({
  ...plainLoad(scale),
  requestsEach: Math.ceil(scale.warmUpRequests / PLAIN_CONNECTIONS),
  ms: scale.mostWarmUpMs,
});

/** Streams of two events: what is called once in each stream is compiled only after thousands of them. */
const briefLoad = (scale: Scale): Load => ({
  ...warmUpLoad(scale),
  kind: 'brief',
  connections: scale.streams,
  requestsEach: scale.briefStreamsEach,
});

/** Starts spread over one stream's length: from then on all connections have a stream, evenly. */
function streamLoad({ streams, paceMs, streamsEach }: Scale): Load {
  const streamMs = TOKENS.stream * paceMs;
  return {
    kind: 'stream',
    connections: streams,
    spreadMs: streamMs,
    requestsEach: streamsEach,
    ms: streamMs * (streamsEach + 2),
  };
}

/** Long streams, all at once: nearly all of their cost is that of their events. */
const longLoad = ({ longStreams, paceMs }: Scale): Load => ({
  kind: 'long',
  connections: longStreams,
  spreadMs: 0,
  requestsEach: 1,
  ms: 2 * TOKENS.long * paceMs,
});

/** The same streams from the upstream, each put together to one plain answer. */
const assembledLoad = (scale: Scale): Load => ({ ...streamLoad(scale), kind: 'assembled' });

const COMPARED = ['bare', 'gateway'] as const;
type Compared = (typeof COMPARED)[number];

/** What one round brought. */
interface Round {
  readonly plain: Readonly<Record<Compared, Outcome>>;
  readonly streams: Readonly<Record<Compared, Outcome>>;
  readonly long: Readonly<Record<Compared, Outcome>>;
  readonly assembled: Outcome;
  /** Streams of the upstream itself. */
  readonly direct: Outcome;
}

export async function relay(
  children: Children,
  directory: string,
  scale: Scale,
  say: (text: string) => void,
): Promise<Report> {
  say(`Node ${process.version}; ${children.pinning}; ${scale.rounds} rounds`);
  const upstreamPort = await startUpstream(children, scale.paceMs);
  const passing = passingFrom(upstreamPort);
  // Asks for a stream and puts the plain answer together, as is the default.
  const assembling = { ...passing, INGLENOOK_HOSTED_A_ASSEMBLE: 'true' };
  const targets = {
    bare: await startBare(children, upstreamPort),
    gateway: await startGateway(children, join(directory, 'gateway'), passing),
    assembling: await startGateway(children, join(directory, 'assembling'), assembling),
  };
  const load = await startLoader(children);
  for (const name of COMPARED) {
    await load(`${name}, warm-up`, targets[name], warmUpLoad(scale));
    await load(`${name}, warm-up`, targets[name], briefLoad(scale));
    await load(`${name}, warm-up`, targets[name], longLoad(scale));
  }
  await load('warm-up', targets.assembling, assembledLoad({ ...scale, streamsEach: 10 }));

  /** The first one meets the machine as another left it, so they take turns in that as well. */
  async function runBoth(round: number, what: Load) {
    const outcomes: Partial<Record<Compared, Outcome>> = {};
    for (const name of round % 2 === 0 ? COMPARED : COMPARED.toReversed())
      outcomes[name] = await load(name, targets[name], what);
    return outcomes as Record<Compared, Outcome>;
  }

  const rounds: Round[] = [];
  for (let round = 0; round < scale.rounds; round += 1) {
    rounds.push({
      plain: await runBoth(round, plainLoad(scale)),
      direct: await load('direct', { port: upstreamPort, child: null }, streamLoad(scale)),
      streams: await runBoth(round, streamLoad(scale)),
      long: await runBoth(round, longLoad(scale)),
      assembled: await load('gateway, assembling', targets.assembling, assembledLoad(scale)),
    });
    say(`round ${round + 1} of ${scale.rounds}`);
  }
  const loadedMb = COMPARED.map((name) => rssMb(targets[name].child.pid));
  return report(rounds, loadedMb);
}

/** Figures of some rounds; only the gateway assembles, so bare's is what it passes on of the same streams. */
const FIGURES = {
  'CPU per request, plain': cpuOf(({ plain }, of) => cpuUsPer('requests', plain[of])),
  'CPU per request, streamed': cpuOf(({ streams }, of) => cpuUsPer('requests', streams[of])),
  'CPU per request, assembled': cpuOf(({ assembled, streams }, of) =>
    cpuUsPer('requests', of === 'bare' ? streams.bare : assembled),
  ),
  'CPU per event': cpuOf(({ long }, of) => cpuUsPer('events', long[of])),
  'added TTFT p50': addedUs(0.5),
  'added TTFT p99': addedUs(0.99),
} as const;
type FigureName = keyof typeof FIGURES;
type Figure = (rounds: readonly Round[], of: Compared) => number;

function cpuOf(figure: (round: Round, of: Compared) => number): Figure {
  return (rounds, of) => median(rounds.map((round) => figure(round, of)));
}

/** Time to the first token beyond that of the upstream asked directly. */
function addedUs(q: number): Figure {
  const at = (outcomes: readonly Outcome[]) =>
    quantile(
      outcomes.flatMap(({ firstTokensUs }) => firstTokensUs),
      q,
    );
  return (rounds, of) =>
    at(rounds.map(({ streams }) => streams[of])) - at(rounds.map(({ direct }) => direct));
}

/** Within each round, so that drift between rounds falls out; none beside a time that noise hides. */
const ratiosToBare = (rounds: readonly Round[], figure: Figure): number[] =>
  rounds.flatMap((round) => {
    const bare = figure([round], 'bare');
    return bare > 0 ? [figure([round], 'gateway') / bare] : [];
  });

/** Of the first tokens of one round the slowest hundredth is a handful, so it is the median of rounds. */
function slowestOverBareMs(rounds: readonly Round[]): number {
  const slowestUs = FIGURES['added TTFT p99'];
  const overUs = (round: Round) => slowestUs([round], 'gateway') - slowestUs([round], 'bare');
  return median(rounds.map(overUs)) / 1000;
}

/** `loadedMb`: resident memory of bare and the gateway after the load. */
function report(rounds: readonly Round[], loadedMb: readonly number[]): Report {
  const names = Object.keys(FIGURES) as FigureName[];
  const [bareMb = Number.NaN, gatewayMb = Number.NaN] = loadedMb;
  const toBare = (name: FigureName) => median(ratiosToBare(rounds, FIGURES[name]));
  return {
    intro: `${rounds.length} rounds; a ratio to bare is a median, with its quartiles.`,
    table: [
      ['', 'bare, µs', 'gateway, µs', 'to bare'],
      ...names.map((name) => [
        name,
        ...COMPARED.map((of) => short(FIGURES[name](rounds, of))),
        spreadText(ratiosToBare(rounds, FIGURES[name])),
      ]),
    ],
    notes: ['Assembled: beside bare, which passes the same stream on.'],
    bounds: [
      bound('plain, to bare', '×', toBare('CPU per request, plain'), 4.5, 2.2),
      bound('streamed, to bare', '×', toBare('CPU per request, streamed'), 1.8, 1.2),
      bound('assembled, to bare', '×', toBare('CPU per request, assembled'), 2.5, 1.6),
      bound('event, to bare', '×', toBare('CPU per event'), 1.3, 1.1),
      // A ratio would be luck, as bare's own is 1 ms in one run and 5 ms in the next.
      bound('added TTFT p99, over bare', ' ms', slowestOverBareMs(rounds), 50, 10),
      bound('RSS loaded, over bare', ' MB', gatewayMb - bareMb, 120, 60),
    ],
  };
}
