import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import { loadConfig } from '../config.ts';
import { createHost, WINDOW_DIRECTORY, type Host } from '../host.ts';
import { systemClock } from '../platform/clock.ts';
import { silentLog } from '../platform/log.ts';
import { openStore } from '../registry/store/open-store.ts';
import { stopOnSignal } from '../stop-on-signal.ts';
import { banner } from './banner.ts';
import { runCommand } from './commands.ts';
import { createDemoEngine, type DemoEngine } from './engine.ts';
import { createFaults, faultRoutes, type Faults } from './fault-routes.ts';
import { demoEnvironment } from './settings.ts';

const say = (text: string) => process.stdout.write(`${text}\n`);

/** Runs the gateway over demo upstreams until a signal ends it. */
export async function runDemo(): Promise<void> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'switchyard-demo-'));
  process.on('exit', () => rmSync(dataDirectory, { recursive: true, force: true }));
  const engines = UPSTREAM_IDS.map((id) => createDemoEngine(id, id === 'ondemand'));
  await Promise.all(engines.map((engine) => engine.start()));
  const faults: Faults = createFaults(engines, () => host.changed());
  const { host, baseUrl, url } = await startHost(engines, faults, dataDirectory);
  const commands = createInterface({ input: process.stdin });
  commands.on('line', (line) => void runCommand(line, faults).then(say));
  stopOnSignal(async () => {
    commands.close();
    await host.stop();
    await Promise.all(engines.map((engine) => engine.stop()));
  }, say);
  say(
    banner({
      baseUrl,
      url,
      link: host.controlLink(),
      tokenFile: join(dataDirectory, 'control-token'),
    }),
  );
}

interface StartedHost {
  readonly host: Host;
  readonly url: string;
  readonly baseUrl: string;
}

/** On the usual port, or on any free one where that is taken and nobody asked for a certain one. */
async function startHost(
  engines: readonly DemoEngine[],
  faults: Faults,
  dataDirectory: string,
): Promise<StartedHost> {
  const asked = process.env['SWITCHYARD_PORT'];
  try {
    return await startHostOn(asked ?? '47900', engines, faults, dataDirectory);
  } catch (error) {
    if (asked !== undefined) throw error;
    return startHostOn('0', engines, faults, dataDirectory);
  }
}

async function startHostOn(
  port: string,
  engines: readonly DemoEngine[],
  faults: Faults,
  dataDirectory: string,
): Promise<StartedHost> {
  const loaded = loadConfig(demoEnvironment(engines, port), {});
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  const demo = { routes: faultRoutes(faults), view: () => ({ faults: faults.view() }) };
  const host = await createHost(
    { loaded, dataDirectory, windowDirectory: WINDOW_DIRECTORY, demo },
    { openStore, clock: systemClock, random: Math.random, log: silentLog },
  );
  return { host, ...(await host.start()) };
}
