/** What the protocols cost beside chat completions: passed on as they are, and translated. */
import { join } from 'node:path';
import type { Children } from '../kit/children.ts';
import { median } from '../kit/numbers.ts';
import { passingFrom, startGateway, startUpstream } from '../kit/programs.ts';
import { cpuUsPer, startLoader } from '../load/loader.ts';
import { eventsOf, WIRES } from '../load/wires.ts';
import { bound, short, type Report } from '../report.ts';
import { DEFAULT_SCALE as SCALE, plainLoad, streamLoad, warmUpLoad } from './relay.ts';

/** Five ways take turns: seven rounds of them would take five minutes. */
const ROUNDS = 5;

const WAYS = [
  { api: 'chat', way: 'native' },
  { api: 'responses', way: 'native' },
  { api: 'messages', way: 'native' },
  { api: 'responses', way: 'translated' },
  { api: 'messages', way: 'translated' },
] as const;

/** Runs it; the ways take turns within each round. */
export async function protocols(children: Children, directory: string): Promise<Report> {
  const upstreamPort = await startUpstream(children, SCALE.paceMs);
  const gateway = (protocol: 'native' | 'chat') =>
    startGateway(children, join(directory, `protocols-${protocol}`), {
      ...passingFrom(upstreamPort),
      INGLENOOK_HOSTED_A_PROTOCOLS: protocol,
    });
  const gateways = { native: await gateway('native'), translated: await gateway('chat') };
  const load = await startLoader(children);
  for (const { api, way } of WAYS) {
    await load(`${api}, warm-up`, gateways[way], { ...warmUpLoad(SCALE), api });
    await load(`${api}, warm-up`, gateways[way], { ...streamLoad(SCALE), api });
  }
  /** By way, then by round: CPU µs per request, and per event of the upstream. */
  const requests: number[][] = WAYS.map(() => []);
  const events: number[][] = WAYS.map(() => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, { api, way }] of WAYS.entries()) {
      const plain = await load(api, gateways[way], { ...plainLoad(SCALE), api });
      const stream = await load(api, gateways[way], { ...streamLoad(SCALE), api });
      const each = eventsOf(WIRES[way === 'native' ? api : 'chat']);
      requests[index]?.push(cpuUsPer('requests', plain));
      events[index]?.push(cpuUsPer('requests', stream) / each);
    }
  }
  const toChat = (costs: readonly (readonly number[])[], index: number) =>
    median(costs[index]?.map((cost, round) => cost / (costs[0]?.[round] ?? NaN)) ?? []);
  const cells = (costs: readonly (readonly number[])[], index: number) => [
    short(median(costs[index] ?? [])),
    `${toChat(costs, index).toFixed(2)}×`,
  ];
  return {
    intro: '',
    tables: [
      [
        ['', 'CPU µs per request', 'to chat', 'CPU µs per upstream event', 'to chat'],
        ...WAYS.map(({ api, way }, index) => [
          `${api}, ${way}`,
          ...cells(requests, index),
          ...cells(events, index),
        ]),
      ],
    ],
    notes: [],
    // What is passed on as it is; translation is shown without a bound.
    bounds: WAYS.flatMap(({ api, way }, index) =>
      api === 'chat' || way === 'translated'
        ? []
        : [bound(`CPU per SSE event of ${api}, native, to chat`, '×', toChat(events, index), 1.1)],
    ),
  };
}
