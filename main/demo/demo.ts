import { isUpstreamId, mapUpstreams, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { DEMO_FAULTS, type DemoFault } from '#shared/live.ts';
import { createHost, type Host, type HostEdges, WINDOW_DIRECTORY } from '../app/app.ts';
import { openDatabase } from '../app/database.ts';
import { loadConfig } from '../config/load.ts';
import { answered, invalidRequest, type Route, route } from '../platform/http/routes.ts';
import { memberOf } from '../platform/json.ts';
import { systemClock } from '../platform/clock.ts';
import { silentLog } from '../platform/log.ts';
import { DEMO_MODEL, createDemoEngine, type DemoEngine, type DemoPace, PACE } from './engine.ts';

/** The gateway over demo upstreams. */
export type Demo = Awaited<ReturnType<typeof startDemo>>;

/** `port`: left out, the default one, or any free one if that is in use. */
export async function startDemo(
  { port, dataDirectory }: { readonly port?: string | undefined; readonly dataDirectory: string },
  pace: DemoPace = PACE,
  edges: Partial<HostEdges> = {},
) {
  const engines = mapUpstreams(() => createDemoEngine(pace));
  await Promise.all(UPSTREAM_IDS.map((id) => engines[id].start()));
  const faults = {
    view: () => mapUpstreams((id) => engines[id].fault()),
    async set(id: UpstreamId, fault: DemoFault) {
      await engines[id].setFault(fault);
      host.changed();
      host.checkNow(id);
    },
  };
  let timer: ReturnType<typeof setInterval> | undefined;
  const traffic = {
    isOn: () => timer !== undefined,
    set(on: boolean) {
      clearInterval(timer);
      timer = on ? setInterval(sendRequest, 1000, started.baseUrl) : undefined;
      host.changed();
    },
  };
  const demo = {
    routes: demoRoutes({ faults, traffic }),
    view: () => ({ faults: faults.view(), traffic: traffic.isOn() }),
  };

  async function startOn(chosen: string) {
    const loaded = loadConfig(demoEnvironment(engines, chosen, pace), NAMES);
    if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
    const opened: Host = await createHost(
      { loaded, dataDirectory, windowDirectory: WINDOW_DIRECTORY, demo },
      { ...EDGES, ...edges },
    );
    return { host: opened, started: await opened.start() };
  }

  const { host, started } = await startOn(port ?? '47900').catch((error: unknown) => {
    if (port !== undefined) throw error;
    return startOn('0');
  });
  return {
    ...started,
    faults,
    traffic,
    /** The window's address with a code, which works as often as it is opened. */
    link: host.controlLink(),
    async stop() {
      clearInterval(timer);
      // Nobody waits for canned answers, nor for the cold start that a request without any other upstream waits for.
      await host.stop(0);
      await Promise.all(UPSTREAM_IDS.map((id) => engines[id].stop()));
    },
  };
}

/** As an app would, so that there is something to watch; the page shows how it ended. */
function sendRequest(baseUrl: string): void {
  const headers = { 'content-type': 'application/json', 'user-agent': 'demo-traffic' };
  const body = `{"model":"any","stream":true,"messages":[{"role":"user","content":"Hello"}]}`;
  fetch(`${baseUrl}/chat/completions`, { method: 'POST', headers, body })
    .then((response) => response.arrayBuffer())
    .catch(() => {});
}

const EDGES = { openDatabase, clock: systemClock, log: silentLog, random: Math.random };

/** Names that a visitor may change. */
const NAMES = {
  hosted_a: { label: 'Service A' },
  hosted_b: { label: 'Service B' },
  hosted_c: { label: 'Service C' },
};

/** The demo's configuration but for the names, as environment variables; the user's own settings are not read. */
function demoEnvironment(
  engines: Readonly<Record<UpstreamId, DemoEngine>>,
  port: string,
  { idleTimeoutMs, slowAfterMs }: DemoPace,
): Record<string, string> {
  const settingsOf = (id: UpstreamId) => {
    const url = engines[id].url();
    if (id === 'local') return { INGLENOOK_LOCAL_ENGINE_URL: url };
    const prefix = `INGLENOOK_${id.toUpperCase()}`;
    return {
      [`${prefix}_BASE_URL`]: id === 'ondemand' ? url : `${url}/v1`,
      [`${prefix}_API_KEY`]: `demo-key-of-${id}-0123456789`,
      [`${prefix}_MODEL`]: DEMO_MODEL,
      [`${prefix}_PREFILL`]: 'continue_final_message',
    };
  };
  return {
    INGLENOOK_PORT: port,
    // The demo brings its own local engine.
    INGLENOOK_AGENT: 'false',
    INGLENOOK_IDLE_TIMEOUT_MS: `${idleTimeoutMs}`,
    INGLENOOK_TTFT_THRESHOLD_MS: `${slowAfterMs}`,
    ...Object.fromEntries(UPSTREAM_IDS.flatMap((id) => Object.entries(settingsOf(id)))),
  };
}

/** The routes by which the window and curl break and heal upstreams, and stop and start the traffic. */
const demoRoutes = ({ faults, traffic }: Pick<Demo, 'faults' | 'traffic'>): readonly Route[] => [
  route('PUT', '/api/v1/demo/faults/:id', 'control', async ({ params: { id = '' }, json }) => {
    const fault = DEMO_FAULTS.find((each) => each === memberOf(json, 'fault'));
    if (!isUpstreamId(id) || fault === undefined)
      return invalidRequest(`An upstream's 'fault' is one of ${DEMO_FAULTS.join(', ')}.`, 'fault');
    await faults.set(id, fault);
    return answered({ faults: faults.view() });
  }),
  route('PUT', '/api/v1/demo/traffic', 'control', ({ json }) => {
    const on = memberOf(json, 'on');
    if (typeof on !== 'boolean') return invalidRequest("'on' must be true or false.", 'on');
    traffic.set(on);
    return answered({ on });
  }),
];
