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

/** Where the demo listens and keeps its files. */
interface DemoPlace {
  /** Left out: the default port, or any free one if that is in use. */
  readonly port?: string | undefined;
  readonly dataDirectory: string;
}

export async function startDemo({ port, dataDirectory }: DemoPlace, pace: DemoPace = PACE) {
  const engines = UPSTREAM_IDS.map((id) =>
    createDemoEngine(id, { isCold: id === 'ondemand', pace }),
  );
  await Promise.all(engines.map((engine) => engine.start()));
  const faults: Faults = createFaults(engines, (id) => {
    host.changed();
    host.checkNow(id);
  });
  const traffic: DemoTraffic = createTraffic(
    () => started.baseUrl,
    () => host.changed(),
  );

  async function startOn(freePort: string): Promise<StartedHost> {
    const loaded = loadConfig(demoEnvironment(engines, freePort, pace), {});
    if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
    const demo = {
      routes: [faultRoute(faults), trafficRoute(traffic)],
      view: () => ({ faults: faults.view(), traffic: traffic.isOn() }),
    };
    const edges = { openStore, openUsage: openUsageStore, clock: systemClock, log: silentLog };
    const created = await createHost(
      { loaded, dataDirectory, windowDirectory: WINDOW_DIRECTORY, demo },
      { ...edges, random: Math.random },
    );
    return { host: created, ...(await created.start()) };
  }

  const started: StartedHost = await startOn(port ?? '47900').catch((error: unknown) => {
    if (port !== undefined) throw error;
    return startOn('0');
  });
  const { host, url, baseUrl } = started;
  return {
    url,
    baseUrl,
    /** The window's address with a code, which works as often as it is opened. */
    link: host.controlLink(),
    faults,
    traffic,
    newLink: () => host.controlLink(),
    async stop() {
      traffic.stop();
      await host.stop();
      await Promise.all(engines.map((engine) => engine.stop()));
    },
  };
}

interface StartedHost {
  readonly host: Host;
  readonly url: string;
  readonly baseUrl: string;
}

/** The demo's whole configuration as environment variables; the user's own settings are not read. */
function demoEnvironment(
  engines: readonly DemoEngine[],
  port: string,
  pace: DemoPace,
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
    INGLENOOK_IDLE_TIMEOUT_MS: `${pace.idleTimeoutMs}`,
    INGLENOOK_TTFT_THRESHOLD_MS: `${pace.slowAfterMs}`,
  };
}

/** Breaks and heals the demo upstreams. */
type Faults = ReturnType<typeof createFaults>;

/** `changed` is called after each change. */
function createFaults(engines: readonly DemoEngine[], changed: (id: UpstreamId) => void) {
  return {
    // There is one engine per id, which the type of fromEntries cannot express.
    view: () =>
      Object.fromEntries(engines.map((engine) => [engine.id, engine.fault()])) as Record<
        UpstreamId,
        DemoFault
      >,
    async set(id: UpstreamId, fault: DemoFault) {
      await engines.find((engine) => engine.id === id)?.setFault(fault);
      changed(id);
    },
  };
}

export function isDemoFault(text: unknown): text is DemoFault {
  return DEMO_FAULTS.some((fault) => fault === text);
}

function trafficRoute(traffic: DemoTraffic): Route {
  return {
    method: 'PUT',
    paths: ['/api/v1/demo/traffic'],
    access: 'control',
    answer({ json }) {
      const on = memberOf(json, 'on');
      if (typeof on !== 'boolean') return invalidRequest("'on' must be true or false.", 'on');
      traffic.set(on);
      return answered({ on: traffic.isOn() });
    },
  };
}

/** The route by which the window and curl break and heal upstreams. */
function faultRoute(faults: Faults): Route {
  return {
    method: 'PUT',
    paths: ['/api/v1/demo/faults/:id'],
    access: 'control',
    async answer({ params: { id = '' }, json }) {
      if (!isUpstreamId(id)) {
        const message = `There is no upstream "${id}"; use one of ${UPSTREAM_IDS.join(', ')}.`;
        return { kind: 'refused', status: 404, code: 'not_found', message };
      }
      const fault = memberOf(json, 'fault');
      if (!isDemoFault(fault))
        return invalidRequest(`'fault' must be one of ${DEMO_FAULTS.join(', ')}.`, 'fault');
      await faults.set(id, fault);
      return answered({ faults: faults.view() });
    },
  };
}

/** One request each second, as an app would send it. */
const EVERY_MS = 1000;
/** More run at a time only while upstreams are slow, and then the pause is longer. */
const MAX_RUNNING = 8;

const BODY = JSON.stringify({
  model: 'any',
  stream: true,
  messages: [{ role: 'user', content: 'What is this page about?' }],
});

/** Sends requests to the gateway, so that there is something to watch. */
type DemoTraffic = ReturnType<typeof createTraffic>;

function createTraffic(baseUrl: () => string, changed: () => void) {
  let timer: ReturnType<typeof setInterval> | null = null;
  const running = new Set<AbortController>();

  async function send(): Promise<void> {
    if (running.size >= MAX_RUNNING) return;
    const abort = new AbortController();
    running.add(abort);
    try {
      const response = await fetch(`${baseUrl()}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': 'demo-traffic' },
        body: BODY,
        signal: abort.signal,
      });
      await response.arrayBuffer();
    } catch {
      // The page shows how it ended.
    } finally {
      running.delete(abort);
    }
  }

  return {
    isOn: () => timer !== null,
    set(on: boolean): void {
      if (on === (timer !== null)) return;
      if (timer === null) {
        timer = setInterval(() => void send(), EVERY_MS);
        void send();
      } else {
        clearInterval(timer);
        timer = null;
      }
      changed();
    },
    stop(): void {
      if (timer !== null) clearInterval(timer);
      timer = null;
      for (const abort of running) abort.abort();
    },
  };
}
