/** What a change costs: this checkout's gateway and another's, side by side in front of one upstream. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { terminate, type Children } from '../kit/children.ts';
import { median, medianInterval } from '../kit/numbers.ts';
import { passingFrom, startGateway, startUpstream, type Gateway } from '../kit/programs.ts';
import { cpuUsPer, startLoader, type Load, type Loader } from '../load/loader.ts';
import { bound, type Report } from '../report.ts';
import { DEFAULT_SCALE, plainLoad, streamLoad } from './relay.ts';

/**
 * Two processes of one checkout can differ by a tenth for as long as they run, as their compiler and their heap happen
 * to lie. So each pair is of new ones, and the interval is taken over pairs: rounds of one pair say nothing about that.
 */
const PAIRS = 9;
const ROUNDS_EACH = 2;

/** Half of the relay's load for each, as both run at once: whatever else the machine does meets both alike. */
const CONNECTIONS = 16;
/** Counted, not timed: a busy machine makes a run longer, not rougher. */
const PLAIN: Load = {
  ...plainLoad(DEFAULT_SCALE),
  connections: CONNECTIONS,
  requestsEach: 1000,
  ms: 60_000,
};
const WARM_UP: Load = { ...PLAIN, requestsEach: DEFAULT_SCALE.warmUpRequests / CONNECTIONS };
const STREAMS: Load = streamLoad({ ...DEFAULT_SCALE, streams: DEFAULT_SCALE.streams / 2 });

/** CPU time of this checkout over that of the other. */
interface Ratios {
  readonly request: number;
  readonly event: number;
}

/** Runs it; `other` is the folder of a checkout with its dependencies. */
export async function against(
  children: Children,
  directory: string,
  other: string,
  say: (text: string) => void,
): Promise<Report> {
  const script = join(resolve(other), 'main/headless.ts');
  if (!existsSync(script)) {
    throw new Error(`--against needs the folder of another checkout; ${resolve(other)} is none`);
  }
  const env = passingFrom(await startUpstream(children, DEFAULT_SCALE.paceMs));
  const loaders = [await startLoader(children), await startLoader(children)] as const;
  const ratios: Ratios[] = [];
  for (let index = 0; index < PAIRS; index += 1) {
    const pair = [
      await startGateway(children, join(directory, `this-${index}`), env),
      await startGateway(children, join(directory, `other-${index}`), env, { script }),
    ] as const;
    const { request, event } = await ratiosOf(pair, loaders);
    ratios.push({ request, event });
    const seen = `${request.toFixed(3)}× per request, ${event.toFixed(3)}× per event`;
    say(`pair ${index + 1} of ${PAIRS}: ${seen}`);
    for (const { child } of pair) await terminate(child);
  }
  const sorts = { request: 'CPU per request', event: 'CPU per SSE event' } as const;
  const measured = (Object.keys(sorts) as (keyof Ratios)[]).map((sort) => {
    const values = ratios.map((each) => each[sort]);
    return { name: sorts[sort], middle: median(values), interval: medianInterval(values) };
  });
  return {
    intro: `Medians of ${PAIRS} pairs of processes, and between what the true ones lie with 95 % certainty.`,
    tables: [
      [
        ['to the other checkout', 'median', 'from', 'to'],
        ...measured.map(({ name, middle, interval }) => [
          name,
          ...[middle, ...interval].map((ratio) => `${ratio.toFixed(3)}×`),
        ]),
      ],
    ],
    notes: [],
    bounds: measured.map(({ name, middle }) =>
      bound(`${name}, to the other checkout`, '×', middle, 1.03, 1),
    ),
  };
}

async function ratiosOf(
  pair: readonly [Gateway, Gateway],
  [ours, theirs]: readonly [Loader, Loader],
): Promise<Ratios> {
  const both = (name: string, load: Load) =>
    Promise.all([ours(name, pair[0], load), theirs(name, pair[1], load)]);
  await both('warm-up', WARM_UP);
  await both('warm-up', STREAMS);
  const requests: number[] = [];
  const events: number[] = [];
  for (let round = 0; round < ROUNDS_EACH; round += 1) {
    const plain = await both('gateway', PLAIN);
    const streams = await both('gateway', STREAMS);
    requests.push(cpuUsPer('requests', plain[0]) / cpuUsPer('requests', plain[1]));
    events.push(cpuUsPer('events', streams[0]) / cpuUsPer('events', streams[1]));
  }
  return { request: median(requests), event: median(events) };
}
