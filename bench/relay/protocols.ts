/** What the protocols cost beside chat completions: passed on as they are, and translated. */
import { join } from 'node:path';
import type { Children } from '../kit/children.ts';
import { startLoader } from '../traffic/loader.ts';
import { median } from '../kit/numbers.ts';
import { DEFAULT_SCALE as SCALE, jobFor, plainLoad, plainWarmUp, streamLoad } from './rounds.ts';
import { cpuUsPer } from './summary.ts';
import { startGateway, startUpstream, type Gateway } from '../kit/programs.ts';
import { type Api, eventsOf, WIRES } from '../traffic/wires.ts';

/** One protocol in one way: CPU time of the gateway, and the same over that of chat in the same round. */
export interface ProtocolFigures {
  readonly api: Api;
  readonly way: 'native' | 'translated';
  readonly usPerRequest: number;
  /** For each event of the upstream. */
  readonly usPerEvent: number;
  readonly requestToChat: number;
  readonly eventToChat: number;
}

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
export async function protocols(
  children: Children,
  directory: string,
): Promise<readonly ProtocolFigures[]> {
  const upstreamPort = await startUpstream(children, SCALE.paceMs);
  const gateway = (protocol: 'native' | 'chat') =>
    startGateway(children, join(directory, `protocols-${protocol}`), {
      SWITCHYARD_HOSTED_A_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1`,
      SWITCHYARD_HOSTED_A_ASSEMBLE: 'false',
      SWITCHYARD_HOSTED_A_PROTOCOLS: protocol,
    });
  const gateways = { native: await gateway('native'), translated: await gateway('chat') };
  const loader = await startLoader(children);

  const run = async (target: Gateway, api: Api, kind: 'plain' | 'stream') => {
    const load = kind === 'plain' ? plainLoad(SCALE) : streamLoad(SCALE);
    return loader.run(api, { ...jobFor(target, load), api });
  };
  for (const { api, way } of WAYS) {
    await loader.run('warm-up', { ...jobFor(gateways[way], plainWarmUp(SCALE)), api });
    await run(gateways[way], api, 'stream');
  }

  const costs = WAYS.map(() => ({ perRequest: [] as number[], perEvent: [] as number[] }));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, { api, way }] of WAYS.entries()) {
      const plain = await run(gateways[way], api, 'plain');
      const stream = await run(gateways[way], api, 'stream');
      const events = eventsOf(WIRES[way === 'native' ? api : 'chat']);
      costs[index]?.perRequest.push(cpuUsPer('requests', plain) ?? Number.NaN);
      costs[index]?.perEvent.push((cpuUsPer('requests', stream) ?? Number.NaN) / events);
    }
  }
  const chat = costs[0];
  return WAYS.map((way, index) => {
    const { perRequest = [], perEvent = [] } = costs[index] ?? {};
    return {
      ...way,
      usPerRequest: median(perRequest),
      usPerEvent: median(perEvent),
      requestToChat: medianRatio(perRequest, chat?.perRequest),
      eventToChat: medianRatio(perEvent, chat?.perEvent),
    };
  });
}

function medianRatio(ours: readonly number[], chat: readonly number[] = []): number {
  return median(ours.map((value, round) => value / (chat[round] ?? Number.NaN)));
}
