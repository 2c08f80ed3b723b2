import {
  againstBoundsOf,
  boundsOf,
  growthBoundsOf,
  idleBoundsOf,
  poolBoundsOf,
  protocolBoundsOf,
  registryBoundsOf,
  soakBoundsOf,
  startBoundsOf,
} from './bounds.ts';
import { growth, type GrowthFigures } from './growth/growth.ts';
import { growthText } from './growth/report.ts';
import type { Bound } from './kit/bound.ts';
import { terminate, type Children } from './kit/children.ts';
import { watchOthers } from './kit/disturbance.ts';
import { rssMb } from './kit/proc.ts';
import { keepResult, keptResult, type Result } from './kit/results.ts';
import { idle } from './memory/idle.ts';
import { idleText, soakText } from './memory/report.ts';
import { soak } from './memory/soak.ts';
import { benchPool } from './pool/pool.ts';
import { poolText } from './pool/report.ts';
import { benchRegistry, REGISTRY_SCALE } from './registry/registry.ts';
import { registryText } from './registry/report.ts';
import { against } from './relay/against.ts';
import { protocols } from './relay/protocols.ts';
import { againstText, protocolsText, reportText } from './relay/report.ts';
import { DEFAULT_SCALE, QUICK_SCALE, runRounds, type Scale } from './relay/rounds.ts';
import { summarise } from './relay/summary.ts';
import { COMPARED, startTargets, type Compared, type Targets } from './relay/targets.ts';
import { start } from './start/start.ts';
import { startText } from './start/report.ts';
import { startLoader } from './traffic/loader.ts';

/** What a part is run with. */
interface Surroundings {
  readonly children: Children;
  readonly directory: string;
  /** What stood behind its flag. */
  readonly word: string;
}

/** One thing that the bench measures; it prints what it brought, and gives the bounds that it was held to. */
export interface Part {
  readonly limitMs: number;
  readonly run: (surroundings: Surroundings) => Promise<readonly Bound[]>;
}

const say = (text: string) => process.stdout.write(`${text}\n`);

/** The parts by the flag that asks for them; without one the first runs. */
export const PARTS: Readonly<Record<string, Part>> = {
  '': { limitMs: 1_200_000, run: runAll },
  '--quick': { limitMs: 90_000, run: (where) => runRelay(where, QUICK_SCALE, false) },
  '--relay': { limitMs: 480_000, run: (where) => runRelay(where, DEFAULT_SCALE, false) },
  '--peers': { limitMs: 720_000, run: (where) => runRelay(where, DEFAULT_SCALE, true) },
  '--protocols': { limitMs: 420_000, run: runProtocols },
  '--registry': { limitMs: 120_000, run: runRegistry },
  '--growth': { limitMs: 1_200_000, run: runGrowth },
  '--start': { limitMs: 600_000, run: runStart },
  '--pool': { limitMs: 1_200_000, run: runPool },
  '--soak': { limitMs: 2_400_000, run: runSoak },
  '--idle': { limitMs: 360_000, run: runIdle },
  '--against': { limitMs: 600_000, run: runAgainst },
};

/** The relay, the protocols and the registry, one after the other. */
async function runAll(where: Surroundings): Promise<readonly Bound[]> {
  return [
    ...(await runRelay(where, DEFAULT_SCALE, false)),
    ...(await runProtocols(where)),
    ...(await runRegistry(where)),
  ];
}

/** The gateway beside proxies that look at nothing. */
async function runRelay(
  { children, directory }: Surroundings,
  scale: Scale,
  withPortkey: boolean,
): Promise<readonly Bound[]> {
  say(`Node ${process.version}; ${children.pinning}; ${scale.rounds} rounds`);
  const { paceMs } = scale;
  const targets = await startTargets(children, directory, { paceMs, withPortkey });
  for (const line of targets.skipped) say(line);
  const memoryBefore = memoryOf(targets);
  const loader = await startLoader(children);
  const othersShare = watchOthers([process.pid, ...children.pids()]);
  const rounds = await runRounds(targets, loader, scale, say);
  const memory = Object.fromEntries(
    Object.entries(memoryOf(targets)).map(([name, loadedMb]) => [
      name,
      { idleMb: memoryBefore[name as Compared] ?? Number.NaN, loadedMb },
    ]),
  );
  const others = othersShare();
  const stopped = await terminate(targets.gateway.child);
  const summary = summarise(rounds);
  const bounds = boundsOf(summary, memory, stopped);
  say(`\n${reportText(summary, memory, bounds)}`);
  sayOthers(others);
  if (scale === QUICK_SCALE) {
    say('Quick: few and short rounds; a figure near its bound proves nothing.');
  } else keepResult('relay', { rounds: scale.rounds, summary, memory, bounds }, others);
  return bounds;
}

function sayOthers(share: number): void {
  const percent = (100 * share).toFixed(0);
  say(`Other programs used ${percent} % of the machine: the less, the firmer the figures.`);
}

/** The other protocols beside chat completions. */
async function runProtocols({ children, directory }: Surroundings): Promise<readonly Bound[]> {
  const figures = await protocols(children, directory);
  const bounds = protocolBoundsOf(figures);
  say(`\n${protocolsText(figures, bounds)}`);
  return bounds;
}

/** The registry with ten thousand machines. */
async function runRegistry({ children, directory }: Surroundings): Promise<readonly Bound[]> {
  const figures = await benchRegistry(children, directory, REGISTRY_SCALE);
  const bounds = registryBoundsOf(figures);
  say(`\n${registryText(figures, bounds)}`);
  return bounds;
}

/** How cost grows; the word may name one axis. */
async function runGrowth({ children, directory, word }: Surroundings): Promise<readonly Bound[]> {
  const othersShare = watchOthers([process.pid]);
  const figures = await growth(children, directory, word, say);
  const others = othersShare();
  const bounds = growthBoundsOf(figures);
  say(`\n${growthText(figures, bounds)}`);
  // One axis at a time is measured anew without the others.
  const before = word === '' ? {} : keptGrowth();
  keepResult('growth', { ...before, ...figures }, others);
  return bounds;
}

function keptGrowth(): GrowthFigures {
  const kept = keptResult('growth');
  return kept === null ? {} : (JSON.parse(kept) as Result<GrowthFigures>).figures;
}

/** From the start to the first answers. */
async function runStart({ children, directory }: Surroundings): Promise<readonly Bound[]> {
  const othersShare = watchOthers([process.pid]);
  const figures = await start(children, directory, (done, rounds) =>
    say(`round ${done} of ${rounds}`),
  );
  const others = othersShare();
  const bounds = startBoundsOf(figures);
  say(`\n${startText(figures, bounds)}`);
  keepResult('start', figures, others);
  return bounds;
}

/** Several gateways on one database, beside one that is alone. */
async function runPool({ children, word }: Surroundings): Promise<readonly Bound[]> {
  const othersShare = watchOthers([process.pid]);
  const figures = await benchPool(children, word, say);
  const others = othersShare();
  const bounds = poolBoundsOf(figures);
  say(`\n${poolText(figures, bounds)}`);
  sayOthers(others);
  if (word === '') keepResult('pool', { figures, bounds }, others);
  return bounds;
}

/** A million requests, half of them failing, while much else goes on. */
async function runSoak({ children, directory }: Surroundings): Promise<readonly Bound[]> {
  const figures = await soak(children, directory);
  const bounds = soakBoundsOf(figures);
  say(`\n${soakText(figures, bounds)}`);
  return bounds;
}

/** Five minutes of doing nothing. */
async function runIdle({ children, directory }: Surroundings): Promise<readonly Bound[]> {
  const figures = await idle(children, directory);
  const bounds = idleBoundsOf(figures);
  say(`\n${idleText(figures, bounds)}`);
  return bounds;
}

/** This checkout beside the one in the folder that the word names. */
async function runAgainst({ children, directory, word }: Surroundings): Promise<readonly Bound[]> {
  const figures = await against(children, directory, word);
  const bounds = againstBoundsOf(figures);
  say(`\n${againstText(figures, bounds)}`);
  return bounds;
}

function memoryOf({ compared }: Targets): Readonly<Partial<Record<Compared, number>>> {
  return Object.fromEntries(
    COMPARED.flatMap((name) => {
      const target = compared[name];
      return target === undefined ? [] : [[name, rssMb(target.child.pid)]];
    }),
  );
}
