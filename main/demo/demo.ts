import { HOSTED_IDS, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { createHost, type Host, WINDOW_DIRECTORY } from '../app/app.ts';
import { loadConfig } from '../config/load.ts';
import { openUsageStore } from '../gateway/usage/store.ts';
import { systemClock } from '../platform/clock.ts';
import { silentLog } from '../platform/log.ts';
import { openStore } from '../registry/store/open-store.ts';
import { DEMO_MODEL } from './answers.ts';
import { createDemoEngine, type DemoEngine } from './engine.ts';
import { createFaults, faultRoutes, type Faults } from './fault-routes.ts';
import { type DemoPace, PACE } from './pace.ts';

/** The gateway over demo upstreams. */
export interface Demo {
  readonly url: string;
  readonly baseUrl: string;
  /** The window's address with a single-use code. */
  readonly link: string;
  readonly faults: Faults;
  stop(): Promise<void>;
}

/** Where the demo listens and keeps its files. */
export interface DemoPlace {
  /** Left out: the default port, or any free one if that is in use. */
  readonly port?: string | undefined;
  readonly dataDirectory: string;
}

export async function startDemo(place: DemoPlace, pace: DemoPace = PACE): Promise<Demo> {
  const engines = UPSTREAM_IDS.map((id) =>
    createDemoEngine(id, { isCold: id === 'ondemand', speaksChatOnly: id === 'local', pace }),
  );
  await Promise.all(engines.map((engine) => engine.start()));
  const faults: Faults = createFaults(engines, () => host.changed());
  const parts: Parts = { engines, faults, dataDirectory: place.dataDirectory, pace };
  const { host, url, baseUrl } = await startHost(place.port, parts);
  return {
    url,
    baseUrl,
    link: host.controlLink(),
    faults,
    async stop() {
      await host.stop();
      await Promise.all(engines.map((engine) => engine.stop()));
    },
  };
}

interface Parts {
  readonly engines: readonly DemoEngine[];
  readonly faults: Faults;
  readonly dataDirectory: string;
  readonly pace: DemoPace;
}

interface StartedHost {
  readonly host: Host;
  readonly url: string;
  readonly baseUrl: string;
}

async function startHost(port: string | undefined, parts: Parts): Promise<StartedHost> {
  try {
    return await startHostOn(port ?? '47900', parts);
  } catch (error) {
    if (port !== undefined) throw error;
    return startHostOn('0', parts);
  }
}

async function startHostOn(port: string, parts: Parts): Promise<StartedHost> {
  const { engines, faults, dataDirectory, pace } = parts;
  const loaded = loadConfig(demoEnvironment(engines, port, pace), {});
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  const demo = { routes: faultRoutes(faults), view: () => ({ faults: faults.view() }) };
  const host = await createHost(
    { loaded, dataDirectory, windowDirectory: WINDOW_DIRECTORY, demo },
    {
      openStore,
      openUsage: openUsageStore,
      clock: systemClock,
      random: Math.random,
      log: silentLog,
    },
  );
  return { host, ...(await host.start()) };
}

/** The demo's whole configuration as environment variables; the user's own settings are not read. */
function demoEnvironment(
  engines: readonly DemoEngine[],
  port: string,
  pace: DemoPace,
): Record<string, string> {
  const urls = new Map(engines.map((engine) => [engine.id, engine.url()]));
  const remote = (id: UpstreamId, path: string, prefix = id.toUpperCase()) => ({
    [`SWITCHYARD_${prefix}_BASE_URL`]: `${urls.get(id) ?? ''}${path}`,
    [`SWITCHYARD_${prefix}_API_KEY`]: `demo-key-of-${id}-0123456789`,
    [`SWITCHYARD_${prefix}_MODEL`]: DEMO_MODEL,
    [`SWITCHYARD_${prefix}_PREFILL`]: 'continue_final_message',
  });
  return {
    SWITCHYARD_PORT: port,
    // The demo brings its own local engine.
    SWITCHYARD_AGENT: 'false',
    SWITCHYARD_LOCAL_ENGINE_URL: urls.get('local') ?? '',
    ...Object.fromEntries(HOSTED_IDS.flatMap((id) => Object.entries(remote(id, '/v1')))),
    ...remote('ondemand', ''),
    SWITCHYARD_IDLE_TIMEOUT_MS: `${pace.idleTimeoutMs}`,
    // No hedge budget, so that a hedge can be tried repeatedly.
    SWITCHYARD_HEDGE_MS: `${pace.hedgeMs}`,
    SWITCHYARD_HEDGE_BUDGET: '100',
  };
}
