/** What a change costs: this checkout's gateway and another's, taking turns in front of one upstream. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { terminate, type Children } from '../kit/children.ts';
import { median } from '../kit/numbers.ts';
import { passingFrom, startGateway, startUpstream, type Gateway } from '../kit/programs.ts';
import { cpuUsPer, startLoader, type Load, type Loader } from '../load/loader.ts';
import { bound, type Report } from '../report.ts';
import { DEFAULT_SCALE, plainLoad, streamLoad, warmUpLoad } from './relay.ts';

/**
 * Two processes of one checkout can differ by a tenth for as long as they run, as their compiler and their heap happen
 * to lie: each pair is of new ones.
 */
const PAIRS = 4;
const ROUNDS_EACH = 4;

/** CPU time of this checkout over that of the other, in one round. */
interface Ratios {
  readonly request: number;
  readonly event: number;
}

/** Runs it; `other` is the folder of a checkout with its dependencies. */
export async function against(
  children: Children,
  directory: string,
  other: string,
): Promise<Report> {
  const script = join(resolve(other), 'main/headless.ts');
  if (!existsSync(script)) {
    throw new Error(`--against needs the folder of another checkout; ${resolve(other)} is none`);
  }
  const env = passingFrom(await startUpstream(children, DEFAULT_SCALE.paceMs));
  const load = await startLoader(children);
  const ratios: Ratios[] = [];
  for (let index = 0; index < PAIRS; index += 1) {
    const pair = [
      await startGateway(children, join(directory, `this-${index}`), env),
      await startGateway(children, join(directory, `other-${index}`), env, { script }),
    ] as const;
    ratios.push(...(await roundsOf(pair, load)));
    for (const { child } of pair) await terminate(child);
  }
  const ratio = (of: keyof Ratios) => median(ratios.map((each) => each[of]));
  return {
    intro: '',
    tables: [],
    notes: [
      `Medians of the ratios within ${ratios.length} rounds, of ${PAIRS} pairs of processes.`,
    ],
    bounds: [
      bound('CPU per request, to the other checkout', '×', ratio('request'), 1.03),
      bound('CPU per SSE event, to the other checkout', '×', ratio('event'), 1.03),
    ],
  };
}

async function roundsOf(pair: readonly [Gateway, Gateway], load: Loader): Promise<Ratios[]> {
  const streams = streamLoad(DEFAULT_SCALE);
  for (const target of pair) {
    await load('warm-up', target, warmUpLoad(DEFAULT_SCALE));
    await load('warm-up', target, streams);
  }
  /** The first one meets the machine as the other left it, so they take turns in that as well. */
  const ratioOf = async (round: number, unit: 'requests' | 'events', what: Load) => {
    const costs = new Map<Gateway, number>();
    for (const target of round % 2 === 0 ? pair : pair.toReversed())
      costs.set(target, cpuUsPer(unit, await load('gateway', target, what)));
    return (costs.get(pair[0]) ?? NaN) / (costs.get(pair[1]) ?? NaN);
  };
  const ratios: Ratios[] = [];
  for (let round = 0; round < ROUNDS_EACH; round += 1) {
    const request = await ratioOf(round, 'requests', plainLoad(DEFAULT_SCALE));
    ratios.push({ request, event: await ratioOf(round, 'events', streams) });
  }
  return ratios;
}
