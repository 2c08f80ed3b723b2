import { createHost, type HostEdges, WINDOW_DIRECTORY } from '../../main/app/app.ts';
import { readKeyFile } from '../../main/config/key-file.ts';
import { asVariables, loadedOf } from './config.ts';

/** Starts a gateway as the program puts it together, with settings by the names of their variables without the prefix. */
export async function startHost(
  settings: Readonly<Record<string, string>>,
  dataDirectory: string,
  edges: HostEdges,
  windowDirectory = WINDOW_DIRECTORY,
) {
  const env = asVariables({ PORT: '0', AGENT: 'false', ...settings });
  const loaded = loadedOf(env, {}, readKeyFile(dataDirectory));
  const host = await createHost({ loaded, dataDirectory, windowDirectory }, edges);
  return { host, url: (await host.start()).url };
}
