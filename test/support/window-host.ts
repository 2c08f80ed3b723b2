import { onTestFinished } from 'vitest';
import { createHost, type Host, type HostEdges, WINDOW_DIRECTORY } from '../../main/app/app.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { silentLog } from '../../main/platform/log.ts';
import { loadedOf } from './config.ts';
import { openDatabaseHere } from './database.ts';
import { tellNothing, temporaryDirectory } from './gateway.ts';
import { openPage } from './page.ts';

/** Without an agent of its own. */
export const NO_AGENT = { INGLENOOK_AGENT: 'false' };

/** The real host with its window, stopped with the test; nothing is set but the environment that is given. */
export async function startWindowHost(
  environment: Readonly<Record<string, string>>,
  dataDirectory: string = temporaryDirectory(),
  edges: Partial<HostEdges> = {},
): Promise<Host> {
  const ports = { INGLENOOK_PORT: '0', INGLENOOK_AGENT_PORTS: '0' };
  const loaded = loadedOf({ ...ports, ...environment });
  const host = await createHost(
    { loaded, dataDirectory, windowDirectory: WINDOW_DIRECTORY },
    {
      openDatabase: openDatabaseHere,
      startHelper: tellNothing,
      clock: systemClock,
      random: Math.random,
      log: silentLog,
      ...edges,
    },
  );
  await host.start();
  onTestFinished(() => host.stop(0));
  return host;
}

/** The same with its window, whose reader is signed in; without an agent unless the environment asks for one. */
export async function openWindowHost(
  environment: Readonly<Record<string, string>> = {},
  dataDirectory?: string,
) {
  const host = await startWindowHost({ ...NO_AGENT, ...environment }, dataDirectory);
  const link = host.controlLink();
  return { host, page: await openPage(link), url: new URL(link).origin };
}
