import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createHost, type Host, type HostEdges, WINDOW_DIRECTORY } from '../../main/app/app.ts';
import { loadConfig } from '../../main/config/load.ts';
import { openUsageStore } from '../../main/gateway/usage/store.ts';
import { openStore } from '../../main/registry/store/open-store.ts';
import type { UpstreamName, Upstreams } from './upstreams.ts';

/** A gateway in front of the upstreams. */
export interface ChaosGateway {
  readonly name: string;
  readonly url: string;
  readonly host: Host;
}

type Settings = Readonly<Record<string, string>>;

/** In time of the clock that is handed in; an answer pauses for less, and the hedge delay is shorter than some first words. */
const COMMON: Settings = {
  PORT: '0',
  AGENT: 'false',
  LOCAL_TIMEOUT_MS: '2500',
  HOSTED_A_TIMEOUT_MS: '2500',
  HOSTED_B_TIMEOUT_MS: '2500',
  IDLE_TIMEOUT_MS: '1000',
  TTFT_THRESHOLD_MS: '200',
  // Every request is to meet what its upstreams do.
  FAIL_THRESHOLD: '1000000',
  TTFT_SLOW_THRESHOLD: '1000000',
};

const of = (setting: string, local: string, a: string, b: string): Settings => ({
  [`LOCAL_${setting}`]: local,
  [`HOSTED_A_${setting}`]: a,
  [`HOSTED_B_${setting}`]: b,
});

const CHAT_ONLY = of('PROTOCOLS', 'chat', 'chat', 'chat');
const CONTINUED = 'continue_final_message';

/** Whose settings differ. */
const GATEWAYS: readonly (readonly [name: string, settings: Settings])[] = [
  ['steady', { ...CHAT_ONLY, ...of('PREFILL', CONTINUED, CONTINUED, 'none'), HEDGE: 'off' }],
  ['hedging', { ...CHAT_ONLY, ...of('PREFILL', 'auto', 'none', 'auto'), HEDGE: 'all' }],
  [
    'speaking all protocols',
    {
      ...of('PROTOCOLS', 'native', 'auto', 'chat'),
      ...of('PREFILL', 'none', 'last-message', 'last-message'),
      HOSTED_B_ASSEMBLE: 'false',
      FAIL_THRESHOLD: '5',
      COOLDOWN_MS: '2000',
    },
  ],
];

export const GATEWAY_COUNT = GATEWAYS.length;

const ADDRESS: Readonly<Record<UpstreamName, string>> = {
  local: 'LOCAL_ENGINE_URL',
  hosted_a: 'HOSTED_A_BASE_URL',
  hosted_b: 'HOSTED_B_BASE_URL',
};

/** Starts them as the real program is put together, each with a directory of its own below `directory`. */
export function startGateways(
  { urls }: Upstreams,
  directory: string,
  edges: Pick<HostEdges, 'clock' | 'log' | 'random'>,
): Promise<readonly ChaosGateway[]> {
  const addresses = Object.entries(urls).map(([id, url]) => [ADDRESS[id as UpstreamName], url]);
  const started = GATEWAYS.map(async ([name, settings], at) => {
    const all = { ...COMMON, ...(Object.fromEntries(addresses) as Settings), ...settings };
    const dataDirectory = join(directory, String(at));
    mkdirSync(dataDirectory, { mode: 0o700 });
    const host = await createHost(
      { loaded: loadedFrom(all), dataDirectory, windowDirectory: WINDOW_DIRECTORY },
      { openStore, openUsage: openUsageStore, ...edges },
    );
    const { url } = await host.start();
    return { name, url, host };
  });
  return Promise.all(started);
}

function loadedFrom(settings: Settings) {
  const named = Object.entries(settings).map(([name, value]) => [`INGLENOOK_${name}`, value]);
  const loaded = loadConfig(Object.fromEntries(named) as Settings, {});
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  return loaded;
}
