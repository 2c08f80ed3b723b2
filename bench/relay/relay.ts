/** The gateway beside proxies that look at nothing, in front of one fake upstream. */
import { join } from 'node:path';
import { messageOf } from '../../main/platform/errors.ts';
import { terminate, type Children } from '../kit/children.ts';
import { median, quantile } from '../kit/numbers.ts';
import { rssMb } from '../kit/proc.ts';
import {
  freePort,
  passingFrom,
  startGateway,
  startBare,
  startUpstream,
  type Target,
} from '../kit/programs.ts';
import { cpuUsPer, startLoader, type Load, type Loader, type Outcome } from '../load/loader.ts';
import { TOKENS } from '../load/wires.ts';
import { bound, short, spreadText, whole, type Report } from '../report.ts';
import { startHaproxy, startNginx, startPortkey } from './peers.ts';

/** What the same load is sent through, in the order of the tables; `bare` is what the others are held against. */
const COMPARED = ['bare', 'nginx', 'haproxy', 'gateway', 'portkey'] as const;
type Compared = (typeof COMPARED)[number];
type OfCompared<T> = Partial<Record<Compared, T>>;

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
  streams: 96,
  paceMs: 8,
  streamsEach: 1,
  assembledStreams: 48,
  failovers: 100,
};

const PLAIN_CONNECTIONS = 32;

/** As many requests as the target can take, each connection one after the other. */
export const plainLoad = ({ plainMs }: Scale): Load => ({
  kind: 'plain',
  connections: PLAIN_CONNECTIONS,
  spreadMs: 0,
  // So that none runs away.
  requestsEach: 1_000_000,
  ms: plainMs,
});

/** Counted, for a compiler counts calls; on a busy machine the time would not be enough. */
export const warmUpLoad = (scale: Scale): Load => ({
  ...plainLoad(scale),
  requestsEach: Math.ceil(scale.warmUpRequests / PLAIN_CONNECTIONS),
  ms: scale.mostWarmUpMs,
});

/** Starts spread over one stream's length: from then on all connections have a stream, evenly. */
export function streamLoad({ streams, paceMs, streamsEach }: Scale): Load {
  const streamMs = TOKENS * paceMs;
  return {
    kind: 'stream',
    connections: streams,
    spreadMs: streamMs,
    requestsEach: streamsEach,
    ms: streamMs * (streamsEach + 2),
  };
}

const assembledLoad = (scale: Scale): Load => ({
  ...streamLoad({ ...scale, streams: scale.assembledStreams, streamsEach: 1 }),
  kind: 'assembled',
});

/** One request after the other. */
const singleLoad = (scale: Scale): Load => ({
  ...plainLoad(scale),
  connections: 1,
  requestsEach: scale.failovers,
  ms: 5000,
});

type Targets = Awaited<ReturnType<typeof startTargets>>;

/** Starts all targets in front of one fake upstream; their files go to `directory`. */
async function startTargets(
  children: Children,
  directory: string,
  paceMs: number,
  withPortkey: boolean,
) {
  const upstreamPort = await startUpstream(children, paceMs);
  const passing = passingFrom(upstreamPort);
  const refusing = {
    ...passing,
    INGLENOOK_LOCAL_ENGINE_URL: `http://127.0.0.1:${await freePort()}`,
  };
  const gateway = (name: string, env: Readonly<Record<string, string>>) =>
    startGateway(children, join(directory, name), env);
  const peers = {
    nginx: await startNginx(children, join(directory, 'nginx'), upstreamPort),
    haproxy: await startHaproxy(children, join(directory, 'haproxy'), upstreamPort),
    portkey: await startPortkey(children, upstreamPort, withPortkey),
  };
  const compared = {
    bare: await startBare(children, upstreamPort),
    gateway: await gateway('gateway', passing),
    ...Object.fromEntries(Object.entries(peers).filter(([, peer]) => typeof peer !== 'string')),
  } as OfCompared<Target & { child: NonNullable<Target['child']> }>;
  return {
    compared,
    /** Why some are not compared. */
    skipped: Object.entries(peers).flatMap(([name, peer]) =>
      typeof peer === 'string' ? [`SKIPPED: ${name}: ${peer}`] : [],
    ),
    direct: { port: upstreamPort, child: null },
    /** Asks for a stream and puts the plain answer together, as is the default. */
    assembling: await gateway('assembling', { ...passing, INGLENOOK_HOSTED_A_ASSEMBLE: 'true' }),
    /** With a `local` that refuses every connection, and is tried every time. */
    failingOver: await gateway('failing-over', {
      ...refusing,
      INGLENOOK_FAIL_THRESHOLD: '1000000',
    }),
    /** Its circuit open after the first failure. */
    passingBy: await gateway('passing-by', {
      ...refusing,
      INGLENOOK_FAIL_THRESHOLD: '1',
      INGLENOOK_COOLDOWN_MS: '86400000',
    }),
  };
}

/** What one round brought. */
interface Round {
  readonly plain: OfCompared<Outcome>;
  readonly streams: OfCompared<Outcome>;
  readonly direct: Outcome;
  readonly assembled: Outcome;
  /** One request after the other: directly, through the gateway, and past a refusing `local`. */
  readonly single: Readonly<Record<'direct' | 'gateway' | 'failingOver' | 'passingBy', Outcome>>;
}

/** Runs it; `withPortkey` installs it, too. */
export async function relay(
  children: Children,
  directory: string,
  scale: Scale,
  withPortkey: boolean,
  say: (text: string) => void,
): Promise<Report> {
  say(`Node ${process.version}; ${children.pinning}; ${scale.rounds} rounds`);
  const targets = await startTargets(children, directory, scale.paceMs, withPortkey);
  for (const line of targets.skipped) say(line);
  const { compared, direct, assembling, failingOver, passingBy } = targets;
  const present = COMPARED.filter((name) => compared[name] !== undefined);
  const memory = () => present.map((name) => rssMb(compared[name]?.child.pid ?? 0));
  const idleMb = memory();
  const load = await startLoader(children);
  await warmUp(targets, load, scale);

  const lost = new Set<Compared>();
  async function runEach(round: number, what: Load): Promise<OfCompared<Outcome>> {
    const outcomes: OfCompared<Outcome> = {};
    // The first one meets the machine as another left it, so they take turns in that as well.
    const first = round % present.length;
    for (const name of [...present.slice(first), ...present.slice(0, first)]) {
      const target = compared[name];
      if (target === undefined || lost.has(name)) continue;
      try {
        outcomes[name] = await load(name, target, what);
      } catch (error) {
        if (name === 'bare' || name === 'gateway') throw error;
        lost.add(name);
        say(`LEFT OUT from here on: ${messageOf(error)}`);
      }
    }
    return outcomes;
  }

  const rounds: Round[] = [];
  const one = singleLoad(scale);
  const gateway = compared.gateway ?? failingOver;
  for (let round = 0; round < scale.rounds; round += 1) {
    rounds.push({
      plain: await runEach(round, plainLoad(scale)),
      direct: await load('direct', direct, streamLoad(scale)),
      streams: await runEach(round, streamLoad(scale)),
      assembled: await load('gateway, assembling', assembling, assembledLoad(scale)),
      single: {
        direct: await load('direct', direct, one),
        gateway: await load('gateway', gateway, one),
        failingOver: await load('gateway, failing over', failingOver, one),
        passingBy: await load('gateway, passing by', passingBy, one),
      },
    });
    say(`round ${round + 1} of ${scale.rounds}`);
  }
  const loadedMb = memory();
  const stopped = await terminate(gateway.child);
  return report(rounds, { present, idleMb, loadedMb, stopped });
}

/** A just-in-time compiler needs its time before it is worth measuring. */
async function warmUp(targets: Targets, load: Loader, scale: Scale): Promise<void> {
  for (const [name, target] of Object.entries(targets.compared)) {
    await load(`${name}, warm-up`, target, warmUpLoad(scale));
    await load(`${name}, warm-up`, target, streamLoad(scale));
  }
  await load('warm-up', targets.assembling, assembledLoad(scale));
  await load('warm-up', targets.failingOver, singleLoad(scale));
  await load('warm-up', targets.passingBy, singleLoad(scale));
}

/** One figure of some rounds; NaN where it was not measured. */
type Figure = (rounds: readonly Round[], of: Compared) => number;

/** Time to the first token beyond the upstream asked directly. */
const added =
  (q: number): Figure =>
  (rounds, of) =>
    quantile(
      rounds.flatMap(({ streams }) => streams[of]?.firstTokensUs ?? []),
      q,
    ) -
    quantile(
      rounds.flatMap(({ direct }) => direct.firstTokensUs),
      q,
    );

const perUnit =
  (unit: 'requests' | 'events', from: 'plain' | 'streams'): Figure =>
  (rounds, of) =>
    median(
      rounds.flatMap((round) => {
        const outcome = round[from][of];
        return outcome === undefined ? [] : [cpuUsPer(unit, outcome)];
      }),
    );

const FIGURES = {
  'CPU per request': perUnit('requests', 'plain'),
  'CPU per event': perUnit('events', 'streams'),
  'added TTFT p50': added(0.5),
  'added TTFT p99': added(0.99),
} as const;
type FigureName = keyof typeof FIGURES;
const NAMES = Object.keys(FIGURES) as FigureName[];

/** Ratios within each round, so that drift between rounds falls out. */
function ratiosToBare(rounds: readonly Round[], figure: Figure, of: Compared): number[] {
  return rounds.flatMap((round) => {
    const [ours, bare] = [figure([round], of), figure([round], 'bare')];
    // Beside one that adds nothing that can be told from noise there is no ratio.
    return Number.isNaN(ours) || !(bare > 0) ? [] : [ours / bare];
  });
}

/**
 * The median of the ratios of the rounds; for time to the first token the ratio over the streams of all rounds: of
 * those in one round the slowest hundredth is a handful, which one pause more or less decides.
 */
function ratioToBare(rounds: readonly Round[], name: FigureName, of: Compared): number {
  const figure = FIGURES[name];
  if (name.startsWith('CPU')) return median(ratiosToBare(rounds, figure, of));
  const bare = figure(rounds, 'bare');
  return bare > 0 ? figure(rounds, of) / bare : Number.NaN;
}

interface TargetFacts {
  readonly present: readonly Compared[];
  /** Of those, before and after the load. */
  readonly idleMb: readonly number[];
  readonly loadedMb: readonly number[];
  readonly stopped: Awaited<ReturnType<typeof terminate>>;
}

function report(
  rounds: readonly Round[],
  { present, idleMb, loadedMb, stopped }: TargetFacts,
): Report {
  const bareMb = loadedMb[present.indexOf('bare')] ?? Number.NaN;
  const overBare = (mb = Number.NaN) => mb - bareMb;
  const gatewayMb = overBare(loadedMb[present.indexOf('gateway')]);
  const toBare = (name: FigureName) => ratioToBare(rounds, name, 'gateway');
  const overRounds = (figure: (round: Round) => number) => median(rounds.map(figure));
  const tax = (way: 'failingOver' | 'passingBy', beside: 'direct' | 'gateway') =>
    overRounds(({ single }) => single[way].latencyP50Us - single[beside].latencyP50Us);
  const directP99Us = quantile(
    rounds.flatMap(({ direct }) => direct.firstTokensUs),
    0.99,
  );
  const assembledUs = overRounds(({ assembled }) => cpuUsPer('events', assembled));
  const absolute = present.map((of, at) => {
    const us = NAMES.map((name) => short(FIGURES[name](rounds, of))).join(', ');
    return `${of} ${us}; ${whole(idleMb[at] ?? NaN)}, ${whole(loadedMb[at] ?? NaN)}`;
  });
  return {
    intro: `${rounds.length} rounds; a ratio to bare is a median, with its quartiles; RSS is loaded, over bare's ${whole(bareMb)} MB.`,
    tables: [
      [
        ['', ...NAMES, 'RSS over bare'],
        ...present.map((of, at) => [
          of,
          ...NAMES.map((name) =>
            spreadText(ratiosToBare(rounds, FIGURES[name], of), ratioToBare(rounds, name, of)),
          ),
          `${whole(overBare(loadedMb[at]))} MB`,
        ]),
      ],
    ],
    notes: [
      `CPU µs per request and per event, added TTFT µs p50 and p99; RSS MB idle, loaded:\n${absolute.join('\n')}`,
      `Direct: TTFT p99 ${whole(directP99Us)} µs on the way, without the upstream's own time.`,
      `Assembled answers (not bounded): ${short(assembledUs)} CPU µs per event.`,
      `Failover, \`local\` refused: ${whole(tax('failingOver', 'direct'))} µs over direct, ${whole(tax('failingOver', 'gateway'))} µs over the gateway without \`local\`.`,
    ],
    bounds: [
      bound('CPU per request, to bare', '×', toBare('CPU per request'), 2.2, 1.25),
      bound('CPU per SSE event, to bare', '×', toBare('CPU per event'), 1.3, 0.9),
      // One pause of the collector in one round decides it: 0.8 to 15 times were seen in five rounds of a quiet run.
      bound('added TTFT p99, to bare', '×', toBare('added TTFT p99'), 6, 1),
      bound('RSS loaded, over bare', ' MB', gatewayMb, 120, 60),
      bound(
        'failover tax, `local` refused, over direct',
        ' ms',
        tax('failingOver', 'direct') / 1000,
        5,
        1,
      ),
      bound(
        'failover tax, circuit open, over direct',
        ' ms',
        tax('passingBy', 'direct') / 1000,
        1,
        0.1,
      ),
      bound(
        `SIGTERM to the end, exit code ${stopped.code ?? 'none'}`,
        ' ms',
        stopped.code === 0 ? stopped.ms : Infinity,
        1000,
      ),
    ],
  };
}
