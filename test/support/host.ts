import { createHost, type HostEdges, WINDOW_DIRECTORY } from '../../main/app/app.ts';
import { loadConfig } from '../../main/config/load.ts';
import { openUsageStore } from '../../main/gateway/usage/store.ts';
import { openStore } from '../../main/registry/store/open-store.ts';

type Settings = Readonly<Record<string, string>>;

/** Starts a gateway as the program puts it together, with settings by the names of their variables without the prefix. */
export async function startHost(
  settings: Settings,
  dataDirectory: string,
  edges: Pick<HostEdges, 'clock' | 'log' | 'random'>,
) {
  const named = Object.entries(settings).map(([name, value]) => [`INGLENOOK_${name}`, value]);
  const loaded = loadConfig(Object.fromEntries(named) as Settings, {});
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  const host = await createHost(
    { loaded, dataDirectory, windowDirectory: WINDOW_DIRECTORY },
    { openStore, openUsage: openUsageStore, ...edges },
  );
  return { host, url: (await host.start()).url };
}
