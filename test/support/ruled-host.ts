import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import type { AgentView } from '#shared/agent.ts';
import type { ProviderList } from '#shared/provider.ts';
import {
  type HostActivity,
  UNKNOWN_HOST_ACTIVITY,
} from '../../main/agent/availability/host-activity.ts';
import { createHost } from '../../main/app/app.ts';
import { loadConfig } from '../../main/config/load.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { silentLog } from '../../main/platform/log.ts';
import { readControlToken } from '../../main/platform/secrets.ts';
import { startModelServer } from './agent.ts';
import { chat } from './client.ts';
import { openDatabaseHere } from './database.ts';
import { temporaryDirectory } from './gateway.ts';
import { bearer, type HttpAnswer, postJson, send } from './http.ts';
import type { SmiCard } from './stub-tool.ts';
import { pathWithCard, soon } from './two-hosts.ts';
import { answers, startUpstream } from './upstream.ts';

/** A gateway whose own machine serves `local`, with a fallback, and its owner. */
export interface RuledHost {
  readonly url: string;
  patch(agent: object): Promise<HttpAnswer>;
  /** POSTs to a route of the owner's, such as `agent/mode`. */
  order(path: string, json: unknown): Promise<HttpAnswer>;
  view(): Promise<AgentView>;
  /** The machine's status in the list of providers. */
  status(): Promise<string | undefined>;
}

/** What such a host is given. */
interface Given {
  readonly hostActivity?: Partial<HostActivity>;
  /** As nvidia-smi has it. */
  readonly card?: SmiCard;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts one and waits until its machine is verified and serves. */
export async function startRuledHost({ hostActivity, card, env }: Given = {}) {
  const engine = await startModelServer(answers('from the engine'));
  const hosted = await startUpstream(answers('from the hosted one'));
  const dataDirectory = temporaryDirectory();
  const loaded = loadConfig(
    {
      INGLENOOK_PORT: '0',
      INGLENOOK_AGENT_PORTS: '0',
      INGLENOOK_ENGINE_URL: engine.url,
      INGLENOOK_HOSTED_A_BASE_URL: hosted.url,
      ...env,
    },
    {},
  );
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  vi.stubEnv('PATH', pathWithCard(card));
  const host = await createHost(
    { loaded, dataDirectory, windowDirectory: join(dataDirectory, 'no-window') },
    {
      openDatabase: openDatabaseHere,
      hostActivity: { ...UNKNOWN_HOST_ACTIVITY, ...hostActivity },
      clock: systemClock,
      random: () => 0.5,
      log: silentLog,
    },
  );
  vi.unstubAllEnvs();
  const { url } = await host.start();
  onTestFinished(() => host.stop());
  const headers = bearer(readControlToken(dataDirectory) ?? '');
  const get = async (path: string) =>
    JSON.parse((await send(`${url}/api/v1/${path}`, { headers })).text) as unknown;
  const ruled: RuledHost = {
    url,
    patch: (agent) =>
      send(`${url}/api/v1/settings`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ agent }),
      }),
    order: (path, json) => postJson(`${url}/api/v1/${path}`, json, headers),
    view: async () => (await get('agent')) as AgentView,
    status: async () => ((await get('providers')) as ProviderList).data[0]?.status,
  };
  const serves = async () => expect((await chat(url)).upstream).toBe('local');
  await soon(serves);
  return ruled;
}
