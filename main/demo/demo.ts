import { HOSTED_IDS, isUpstreamId, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { DEMO_FAULTS, type DemoFault } from '#shared/live.ts';
import { createHost, type Host, WINDOW_DIRECTORY } from '../app/app.ts';
import { loadConfig } from '../config/load.ts';
import { answered, invalidRequest, type Route } from '../platform/http/routes.ts';
import { memberOf } from '../platform/json.ts';
import { openUsageStore } from '../gateway/usage/store.ts';
import { systemClock } from '../platform/clock.ts';
import { silentLog } from '../platform/log.ts';
import { openStore } from '../registry/store/open-store.ts';
import { DEMO_MODEL, createDemoEngine, type DemoEngine, type DemoPace, PACE } from './engine.ts';

/** The gateway over demo upstreams. */
export type Demo = Awaited<ReturnType<typeof startDemo>>;

/** `port`: left out, the default one, or any free one if that is in use. */
export async function startDemo(
  { port, dataDirectory }: { readonly port?: string | undefined; readonly dataDirectory: string },
  pace: DemoPace = PACE,
) {
  const engines = UPSTREAM_IDS.map((id) => createDemoEngine(id, pace));
  await Promise.all(engines.map((engine) => engine.start()));
  const onPort = (chosen: string) =>
    startOn(engines, demoEnvironment(engines, chosen, pace), dataDirectory);
  return onPort(port ?? '47900').catch((error: unknown) => {
    if (port !== undefined) throw error;
    return onPort('0');
  });
}

async function startOn(
  engines: readonly DemoEngine[],
  environment: Readonly<Record<string, string>>,
  dataDirectory: string,
) {
  const loaded = loadConfig(environment, {});
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  const faults = {
    // There is one engine per id, which the type of fromEntries cannot express.
    view: () =>
      Object.fromEntries(engines.map(({ id, fault }) => [id, fault()])) as Record<
        UpstreamId,
        DemoFault
      >,
    async set(id: UpstreamId, fault: DemoFault) {
      await engines.find((engine) => engine.id === id)?.setFault(fault);
      host.changed();
      host.checkNow(id);
    },
  };
  const traffic: Traffic = createTraffic(
    () => started.baseUrl,
    () => host.changed(),
  );
  const demo = {
    routes: [faultRoute(faults), trafficRoute(traffic)],
    view: () => ({ faults: faults.view(), traffic: traffic.isOn() }),
  };
  const edges = { openStore, openUsage: openUsageStore, clock: systemClock, log: silentLog };
  const host: Host = await createHost(
    { loaded, dataDirectory, windowDirectory: WINDOW_DIRECTORY, demo },
    { ...edges, random: Math.random },
  );
  const started = await host.start();
  return {
    ...started,
    faults,
    traffic,
    /** The window's address with a code, which works as often as it is opened. */
    link: host.controlLink(),
    async stop() {
      traffic.stop();
      await host.stop();
      await Promise.all(engines.map((engine) => engine.stop()));
    },
  };
}

/** The demo's whole configuration as environment variables; the user's own settings are not read. */
function demoEnvironment(
  engines: readonly DemoEngine[],
  port: string,
  { idleTimeoutMs, slowAfterMs }: DemoPace,
): Record<string, string> {
  const urls = new Map(engines.map((engine) => [engine.id, engine.url()]));
  const remote = (id: UpstreamId, path: string, prefix = id.toUpperCase()) => ({
    [`INGLENOOK_${prefix}_BASE_URL`]: `${urls.get(id) ?? ''}${path}`,
    [`INGLENOOK_${prefix}_API_KEY`]: `demo-key-of-${id}-0123456789`,
    [`INGLENOOK_${prefix}_MODEL`]: DEMO_MODEL,
    [`INGLENOOK_${prefix}_PREFILL`]: 'continue_final_message',
  });
  return {
    INGLENOOK_PORT: port,
    // The demo brings its own local engine.
    INGLENOOK_AGENT: 'false',
    INGLENOOK_LOCAL_ENGINE_URL: urls.get('local') ?? '',
    ...Object.fromEntries(HOSTED_IDS.flatMap((id) => Object.entries(remote(id, '/v1')))),
    ...remote('ondemand', ''),
    INGLENOOK_IDLE_TIMEOUT_MS: `${idleTimeoutMs}`,
    INGLENOOK_TTFT_THRESHOLD_MS: `${slowAfterMs}`,
  };
}

const trafficRoute = (traffic: Traffic): Route => ({
  method: 'PUT',
  paths: ['/api/v1/demo/traffic'],
  access: 'control',
  answer({ json }) {
    const on = memberOf(json, 'on');
    if (typeof on !== 'boolean') return invalidRequest("'on' must be true or false.", 'on');
    traffic.set(on);
    return answered({ on });
  },
});

/** The route by which the window and curl break and heal upstreams. */
const faultRoute = (faults: Demo['faults']): Route => ({
  method: 'PUT',
  paths: ['/api/v1/demo/faults/:id'],
  access: 'control',
  async answer({ params: { id = '' }, json }) {
    if (!isUpstreamId(id)) {
      const message = `There is no upstream "${id}"; use one of ${UPSTREAM_IDS.join(', ')}.`;
      return { kind: 'refused', status: 404, code: 'not_found', message };
    }
    const fault = DEMO_FAULTS.find((each) => each === memberOf(json, 'fault'));
    if (fault === undefined)
      return invalidRequest(`'fault' must be one of ${DEMO_FAULTS.join(', ')}.`, 'fault');
    await faults.set(id, fault);
    return answered({ faults: faults.view() });
  },
});

/** One request each second, as an app would send it. */
const EVERY_MS = 1000;
/** More run at a time only while upstreams are slow, and then the pause is longer. */
const MAX_RUNNING = 8;

const ASKED = {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'user-agent': 'demo-traffic' },
  body: JSON.stringify({
    model: 'any',
    stream: true,
    messages: [{ role: 'user', content: 'What is this page about?' }],
  }),
};

type Traffic = ReturnType<typeof createTraffic>;

/** Sends requests to the gateway, so that there is something to watch. */
function createTraffic(baseUrl: () => string, changed: () => void) {
  const stopped = new AbortController();
  let timer: ReturnType<typeof setInterval> | null = null;
  let running = 0;

  async function send(): Promise<void> {
    if (running >= MAX_RUNNING) return;
    running += 1;
    const asked = fetch(`${baseUrl()}/chat/completions`, { ...ASKED, signal: stopped.signal });
    // The page shows how it ended.
    await asked.then((response) => response.arrayBuffer()).catch(() => {});
    running -= 1;
  }

  function set(on: boolean): void {
    if (timer !== null) clearInterval(timer);
    timer = on ? setInterval(() => void send(), EVERY_MS) : null;
    if (on) void send();
    changed();
  }

  return {
    isOn: () => timer !== null,
    set,
    stop() {
      if (timer !== null) clearInterval(timer);
      stopped.abort();
    },
  };
}
