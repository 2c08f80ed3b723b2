import { createHost, type HostEdges, WINDOW_DIRECTORY } from '../../main/app/app.ts';
import { readKeyFile } from '../../main/config/key-file.ts';
import { loadConfig } from '../../main/config/load.ts';

/** Starts a gateway as the program puts it together, with settings by the names of their variables without the prefix. */
export async function startHost(
  settings: Readonly<Record<string, string>>,
  dataDirectory: string,
  edges: HostEdges,
  windowDirectory = WINDOW_DIRECTORY,
) {
  const all = Object.entries({ PORT: '0', AGENT: 'false', ...settings });
  const env = Object.fromEntries(all.map(([name, value]) => [`INGLENOOK_${name}`, value]));
  const loaded = loadConfig(env, {}, readKeyFile(dataDirectory));
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  const host = await createHost({ loaded, dataDirectory, windowDirectory }, edges);
  return { host, url: (await host.start()).url };
}
