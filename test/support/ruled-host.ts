import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import type { ProviderList } from '#shared/provider.ts';
import {
  type HostActivity,
  UNKNOWN_HOST_ACTIVITY,
} from '../../main/agent/availability/host-activity.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { silentLog } from '../../main/platform/log.ts';
import { startModelServer } from './agent.ts';
import { chat } from './client.ts';
import { controlOf } from './control.ts';
import { openDatabaseHere } from './database.ts';
import { temporaryDirectory } from './gateway.ts';
import { startHost } from './host.ts';
import type { SmiCard } from './stub-tool.ts';
import { pathWithCard, soon } from './two-hosts.ts';
import { answers, startUpstream } from './upstream.ts';

/** What such a host is given. */
interface HostParts {
  readonly hostActivity?: Partial<HostActivity>;
  /** As nvidia-smi has it. */
  readonly card?: SmiCard;
  readonly settings?: Readonly<Record<string, string>>;
}

/** Starts a gateway whose own machine serves `local`, with a fallback, and waits until the machine is verified. */
export async function startRuledHost({ hostActivity, card, settings }: HostParts = {}) {
  const engine = await startModelServer(answers('from the engine'));
  const hosted = await startUpstream(answers('from the hosted one'));
  const dataDirectory = temporaryDirectory();
  const machine = { AGENT: 'true', AGENT_PORTS: '0', ENGINE_URL: engine.url };
  const settled = { ...machine, HOSTED_A_BASE_URL: hosted.url, ...settings };
  const edges = {
    openDatabase: openDatabaseHere,
    hostActivity: { ...UNKNOWN_HOST_ACTIVITY, ...hostActivity },
    clock: systemClock,
    random: () => 0.5,
    log: silentLog,
  };
  vi.stubEnv('PATH', pathWithCard(card));
  const { host, url } = await startHost(
    settled,
    dataDirectory,
    edges,
    join(dataDirectory, 'no-window'),
  );
  vi.unstubAllEnvs();
  onTestFinished(() => host.stop());
  const { patch, post, read, agent } = controlOf({ url, dataDirectory });
  await soon(async () => expect((await chat(url)).upstream).toBe('local'));
  return {
    url,
    patch: (tree: object) => patch({ agent: tree }),
    /** POSTs to a route of the owner's, such as `agent/mode`. */
    order: post,
    view: agent,
    /** The machine's status in the list of providers. */
    status: async () => (await read<ProviderList>('providers')).data[0]?.status,
  };
}
