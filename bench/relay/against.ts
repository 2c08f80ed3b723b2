/** What a change costs: this checkout's gateway and another's, taking turns in front of one upstream. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { terminate, type Children } from '../kit/children.ts';
import { median } from '../kit/numbers.ts';
import type { Outcome } from '../traffic/load.ts';
import { startLoader } from '../traffic/loader.ts';
import { DEFAULT_SCALE, jobFor, plainLoad, plainWarmUp, streamLoad, type Load } from './rounds.ts';
import { cpuUsPer } from './summary.ts';
import { startGateway, startUpstream, type Gateway } from '../kit/programs.ts';

/** CPU time of this checkout over that of the other: medians of the ratios within a round. */
export interface AgainstFigures {
  readonly perRequest: number;
  readonly perEvent: number;
  readonly rounds: number;
}

/**
 * Two processes of one checkout can differ by a tenth for as long as they run, as their compiler and their heap happen
 * to lie: each pair is of new ones.
 */
const PAIRS = 4;
const ROUNDS_EACH = 4;

/** Runs it; `other` is the folder of a checkout with its dependencies. */
export async function against(
  children: Children,
  directory: string,
  other: string,
): Promise<AgainstFigures> {
  const checkout = resolve(other);
  if (!existsSync(join(checkout, 'main/headless.ts'))) {
    throw new Error(`--against needs the folder of another checkout; ${checkout} is none`);
  }
  const upstreamPort = await startUpstream(children, DEFAULT_SCALE.paceMs);
  const env = {
    SWITCHYARD_HOSTED_A_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1`,
    SWITCHYARD_HOSTED_A_ASSEMBLE: 'false',
  };
  const loader = await startLoader(children);
  const run = (target: Gateway, load: Load) => loader.run('gateway', jobFor(target, load));
  const ratios: Ratios[] = [];
  for (let index = 0; index < PAIRS; index += 1) {
    const pair: Pair = [
      await startGateway(children, join(directory, `this-${index}`), env),
      await startGateway(children, join(directory, `other-${index}`), env, checkout),
    ];
    ratios.push(...(await roundsOf(pair, run)));
    for (const { child } of pair) await terminate(child);
  }
  return {
    perRequest: median(ratios.map(({ request }) => request)),
    perEvent: median(ratios.map(({ event }) => event)),
    rounds: ratios.length,
  };
}

/** Of this checkout and of the other. */
type Pair = readonly [Gateway, Gateway];

/** Of one round. */
interface Ratios {
  readonly request: number;
  readonly event: number;
}

async function roundsOf(pair: Pair, run: (target: Gateway, load: Load) => Promise<Outcome>) {
  const plain = plainLoad(DEFAULT_SCALE);
  const streams = streamLoad(DEFAULT_SCALE);
  for (const target of pair) {
    await run(target, plainWarmUp(DEFAULT_SCALE));
    await run(target, streams);
  }
  /** Whoever goes first meets the machine as the other left it: they take turns in that as well. */
  const ratioOf = async (round: number, load: Load, unit: 'requests' | 'events') => {
    const order = round % 2 === 0 ? pair : pair.toReversed();
    const costs = new Map<Gateway, number>();
    for (const target of order) costs.set(target, cpuUsPer(unit, await run(target, load)) ?? NaN);
    return (costs.get(pair[0]) ?? NaN) / (costs.get(pair[1]) ?? NaN);
  };
  const ratios: Ratios[] = [];
  for (let round = 0; round < ROUNDS_EACH; round += 1) {
    const request = await ratioOf(round, plain, 'requests');
    ratios.push({ request, event: await ratioOf(round, streams, 'events') });
  }
  return ratios;
}
