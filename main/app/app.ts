import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { GpuFigures, OwnerChoice } from '#shared/agent.ts';
import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { AppInfo, LiveEvent } from '#shared/live.ts';
import { type Agent, createAgent } from '../agent/agent.ts';
import { type HostActivity, UNKNOWN_HOST_ACTIVITY } from '../agent/availability/host-activity.ts';
import { agentRoutes } from '../agent/routes.ts';
import { createTelemetry } from '../agent/telemetry/telemetry.ts';
import type { StartTool } from '../agent/telemetry/tool-process.ts';
import { writeKeyFile } from '../config/key-file.ts';
import { createLiveConfig, type LiveConfig } from '../config/live-config.ts';
import { type LoadedConfig, SPENDING_HELD } from '../config/load.ts';
import { type SecretBox, controlToken } from '../platform/secrets.ts';
import { createNamedKeys, type NamedKeys } from '../gateway/auth/keys.ts';
import { createGateway, type Gateway, type GatewayDeps } from '../gateway/gateway.ts';
import { identityOf } from '../gateway/monitoring/saved-state.ts';
import { hashIsReady } from '../gateway/protocols/prompt-chain.ts';
import { createFixedEngine, type FixedEngine } from '../gateway/upstream/engine-probe.ts';
import { openUsage } from '../gateway/usage/recorder.ts';
import { reach } from '../platform/addresses.ts';
import type { Clock } from '../platform/clock.ts';
import type { DataLock } from '../platform/data-lock.ts';
import { createHttpClient } from '../platform/http/client.ts';
import type { Route } from '../platform/http/routes.ts';
import { isLoopbackHost } from '../platform/http/addresses.ts';
import { type Log, logFile } from '../platform/log.ts';
import { createStateFile } from '../platform/files.ts';
import { DATABASE_FILE, type openDatabase } from './database.ts';
import { createOwnPackage } from './own-package.ts';
import { OWN_COMMAND, PACKAGE_ROOT, VERSION } from '../platform/process.ts';
import { openRegistryStore } from './registry-store.ts';
import { createProviders, type Providers } from './registry.ts';
import { createWakeWatch } from './wake-watch.ts';

interface HostOptions {
  readonly loaded: LoadedConfig;
  readonly dataDirectory: string;
  /** Directory of the built window. */
  readonly windowDirectory: string;
  /** The demo's routes and switches; absent in the real program. */
  readonly demo?: {
    readonly routes: readonly Route[];
    readonly view: () => NonNullable<AppInfo['demo']>;
  };
}

export interface HostEdges {
  readonly openDatabase: typeof openDatabase;
  /** Left out if the owner's use of the machine cannot be observed. */
  readonly hostActivity?: HostActivity;
  /** Left out under plain Node. */
  readonly startHelper?: StartTool;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  /** Seals saved secrets; left out if they are saved unencrypted. */
  readonly secretBox?: SecretBox | null;
  /** Called when the start waits for a port. Left out: the start fails at once. */
  readonly onPortTaken?: (message: string) => void;
  /** Of the data directory: held until the host has stopped, and told its address. Left out of demo and tests. */
  readonly lock?: DataLock;
}

/** The running program, used alike by the desktop app, the server and tests. */
export type Host = Awaited<ReturnType<typeof createHost>>;

const STOP_GRACE_MS = 30_000;

/** The composition root: connects the parts with functions. */
export async function createHost(options: HostOptions, edges: HostEdges) {
  const { loaded, dataDirectory, windowDirectory, demo } = options;
  const { clock, random, log, lock } = edges;
  const [database] = await Promise.all([
    edges.openDatabase(join(dataDirectory, DATABASE_FILE), { clock, log }),
    hashIsReady,
  ]);
  const [opened, usage] = await Promise.all([
    openRegistryStore(loaded.config, dataDirectory, { database, clock, log }),
    openUsage(database.part('usage')),
  ]);
  const onUnasked = (origin: string) => log('warn', 'unasked_bytes', { origin });
  const http = createHttpClient({ clock, onUnasked });
  const changed = () => {
    engine.look();
    gateway.feed.changed();
  };
  const gpus = () => machine.agent?.gpus() ?? [];
  const isHere = (baseUrl: string) => machine.agent?.isHere(baseUrl) === true;
  const memoryAt = (baseUrl: string) => (isHere(baseUrl) ? gpuMemory(gpus()) : null);
  const engine = createFixedEngine({
    http,
    clock,
    memoryAt,
    isHeldBack: (origin) => machine.agent?.holdsBack(origin) === true,
    changed,
    read: (isUp) => gateway.modelsRead('local', isUp),
  });
  const keys = openKeys(options, edges);
  const { secretBox = null } = edges;
  const files = { directory: dataDirectory, hasNamedKeys: () => !keys.isEmpty(), secretBox };
  const config = createLiveConfig(loaded, files, (now, before) => {
    if (now.local.baseUrl !== before.local.baseUrl) engine.set(now.local.baseUrl);
    machine.agent?.configured(now, before);
    for (const id of UPSTREAM_IDS)
      if (identityOf(now, id) !== identityOf(before, id)) gateway.upstreamChanged(id);
    if (now.circuit.ttftThresholdMs > before.circuit.ttftThresholdMs) gateway.waitsLonger();
    changed();
  });

  const common = { config: config.current, dataDirectory, http, clock, random, log };
  const providers: Providers = createProviders({
    ...common,
    opened,
    ownPorts: () => machine.agent?.ports() ?? [],
    traffic: (id) => gateway.traffic(id),
    changed,
    events: () => gateway.machineEvents,
  });
  const { env, platform } = process;
  const { startHelper, hostActivity = UNKNOWN_HOST_ACTIVITY } = edges;
  const createOwnAgent = () =>
    createAgent({
      ...common,
      version: VERSION,
      warnings: loaded.setAside.map((happened) => ({ happened, remedy: CORRECT })),
      ownRegistry: providers.own,
      otherPorts: () => gateway.ports(),
      cuts: () => gateway.cuts(),
      direct: {
        inFlight: () => (engine.current(isHere) ? gateway.traffic('local').concurrentRequests : 0),
        endAll: () => engine.current(isHere)?.endAll(),
      },
      listenFor: (url) => listenFor(url, config),
      isFixed: (path) => loaded.sources.get(path) === 'env',
      hostActivity,
      telemetry: createTelemetry({ clock, env, platform, startHelper }),
      changed,
    });
  const machine = createThisMachine(createOwnAgent, config);
  const gateway: Gateway = createGateway({
    ...common,
    keys,
    settings: config,
    fixed: engine.source,
    pickMachines: () => providers.pick(),
    ...localOf(engine, machine, memoryAt),
    machines: providers.forGateway,
    gpus,
    ...gatewayFiles(dataDirectory, { clock, log }),
    usage,
    ownPackage: createOwnPackage(),
    onPortTaken: edges.onPortTaken ?? null,
    windowDirectory,
    moreRoutes: [...machine.routes, ...providers.routes, ...(demo?.routes ?? [])],
    app: () => appInfo(config, demo),
    isDemo: demo !== undefined,
  });

  // What is known from before may be wrong, and connections are stale.
  const wakeWatch = createWakeWatch(clock, () => {
    http.dropIdle();
    gateway.checkNow();
    machine.agent?.resumed();
  });
  const held = database.notice === null ? null : holdSpending(config);
  return {
    /** Notices about the databases for the owner at start; requests are routed whatever their state. */
    notices: [...new Set([database.notice, opened.notice, held])].filter((each) => each !== null),
    /** Rejects with a human-readable message, for example if the port is taken. */
    async start() {
      const failure = await gateway.start();
      if (failure !== null) {
        await providers.stop();
        await database.close();
        lock?.release();
        throw new Error(failure);
      }
      engine.set(config.current().local.baseUrl);
      providers.start();
      wakeWatch.look(false);
      await machine.agent?.start();
      changed();
      lock?.listensAt(gateway.url());
      // The window's page is at, say, `http://127.0.0.1:47900`; apps use `http://localhost:47900/v1`.
      return { url: gateway.url(), baseUrl: gateway.baseUrl() };
    },
    /** Running requests may finish for `graceMs`. */
    async stop(graceMs = STOP_GRACE_MS) {
      wakeWatch.stop();
      await Promise.all([gateway.stop(graceMs), machine.agent?.stop(graceMs)]);
      engine.set(null);
      await providers.stop();
      await database.close();
      http.close();
      lock?.release();
    },
    /** Asks hosted upstreams for their models now rather than at the first read of the list. */
    askForModels: gateway.askForModels,
    snapshot: gateway.feed.snapshot,
    subscribe: (listener: (event: LiveEvent) => void) => gateway.feed.subscribe(listener),
    ...trayControls(config, machine),
    /** The window's address with a new single-use code, which the page exchanges for a control session. */
    controlLink: gateway.controlLink,
    /** Something has changed at an upstream: it is checked now. */
    checkNow: (id: UpstreamId) => gateway.checkNow(id),
    /** Tells the window that something outside the gateway has changed. */
    changed,
    /** The machine has woken from sleep. */
    resumed: () => wakeWatch.look(true),
  };
}

/** What was spent before is lost with the database: a budget could be spent twice. Null if none is set. */
function holdSpending(config: LiveConfig): string | null {
  const { local: _, routing, ...settings } = config.current();
  const hasBudget = UPSTREAM_IDS.some(
    (id) => id !== 'local' && (settings[id].budgetDay ?? settings[id].budgetMonth) !== null,
  );
  if (routing.forceZero || !hasBudget) return null;
  const patched = config.patch({ routing: { forceZero: true } });
  const held = patched.kind === 'patched' ? `${SPENDING_HELD}.` : patched.message;
  return `Budgets count from 0, as what was spent before cannot be read. ${held}`;
}

const CORRECT = 'Correct it, and put it back while Inglenook does not run.';

/** The agent of this machine, null while its owner has switched it off. */
type ThisMachine = ReturnType<typeof createThisMachine>;

/** Nothing runs before `start`. */
function createThisMachine(create: () => Agent, config: LiveConfig) {
  if (!config.current().agent.enabled) return { agent: null, routes: agentRoutes(null) };
  const agent = create();
  return { agent, routes: agentRoutes(agent) };
}

async function listenFor(url: string, config: LiveConfig): Promise<string | null> {
  if (!isLoopbackHost(config.current().agent.host)) return null;
  const reached = await reach(url);
  if (reached.kind === 'failed' || isLoopbackHost(reached.localAddress)) return null;
  const host = reached.localAddress;
  const saved = config.patch({ agent: { host } });
  if (saved.kind === 'patched') return null;
  return `The agent could not be set to listen on ${host}: ${saved.message}`;
}

/** What the gateway does with engines that this program reaches itself. */
function localOf(
  engine: FixedEngine,
  { agent }: ThisMachine,
  memoryAt: (baseUrl: string) => number | null,
): Pick<GatewayDeps, 'identifyLocal' | 'localUsed' | 'engineAt' | 'enginesChanged'> {
  return {
    engineAt(provider) {
      const found =
        provider === null ? (engine.current()?.at() ?? null) : (agent?.engineOf(provider) ?? null);
      return found && { ...found, memoryBytes: memoryAt(found.address.origin) };
    },
    async enginesChanged() {
      await Promise.all([engine.current()?.refresh(), agent?.readEngines()]);
    },
    identifyLocal: (failedAt) => engine.current()?.identified(failedAt) ?? null,
    localUsed: (model) => engine.current()?.used(model),
  };
}

/** The memory of all GPUs in bytes; null while no GPU is known. */
function gpuMemory(gpus: readonly GpuFigures[]): number | null {
  const totalMb = gpus.reduce((sum, { memory_total_mb: mb }) => sum + (mb ?? 0), 0);
  return totalMb === 0 ? null : totalMb * 1024 * 1024;
}

function gatewayFiles(dataDirectory: string, edges: Pick<HostEdges, 'clock' | 'log'>) {
  const keepIn = (name: string) => (save: () => unknown) =>
    createStateFile(join(dataDirectory, name), save, edges);
  return {
    keep: keepIn('state.json'),
    keepSessions: keepIn('sessions.json'),
    keepBrowsers: keepIn('browsers.json'),
    about: {
      dataDirectory,
      logLines: (count: number) => logTail(logFile(join(dataDirectory, 'logs')), count),
    },
    controlToken: controlToken(dataDirectory),
  };
}

function appInfo(
  config: Pick<LiveConfig, 'current'>,
  demo: HostOptions['demo'],
): Omit<AppInfo, 'baseUrl'> {
  const { ondemand, gateway } = config.current();
  return {
    version: VERSION,
    warmupEnabled: ondemand.warmup,
    command: OWN_COMMAND,
    currency: gateway.currency,
    ...(demo === undefined ? {} : { demo: demo.view() }),
  };
}

function openKeys({ loaded, dataDirectory }: HostOptions, { clock, log }: HostEdges): NamedKeys {
  const usesPath = join(dataDirectory, 'keys-used.json');
  return createNamedKeys({
    stored: loaded.namedKeys,
    write: (next) => writeKeyFile(dataDirectory, next),
    keepUses: (save) => createStateFile(usesPath, save, { clock, log }),
    clock,
    log,
  });
}

function trayControls(config: LiveConfig, machine: ThisMachine) {
  return {
    keepSecretsIn: (box: SecretBox | null) => config.keepSecretsIn(box),
    openSecrets: (box: SecretBox) => config.openSecrets(box),
    onSecretSaved: (listener: () => void) => config.onSecretSaved(listener),
    setForceZero: (enabled: boolean) => config.patch({ routing: { forceZero: enabled } }),
    /** The owner's mode of this machine; null while the agent is switched off. */
    machine: () => machine.agent?.view().owner.mode ?? null,
    async setMachine(choice: OwnerChoice) {
      await machine.agent?.setMode(choice);
    },
    /** Unloads its models until it is resumed. */
    async freeMachine() {
      await machine.agent?.free(null);
    },
  };
}

/** Written by `npm run build`. */
export const WINDOW_DIRECTORY = join(PACKAGE_ROOT, 'dist/window');

/** Limit on what is read from the end of the file. */
const MAX_READ_BYTES = 512 * 1024;

/** The last `count` lines of the file at `path`, oldest first; null if it cannot be read. */
async function logTail(path: string, count: number): Promise<readonly string[] | null> {
  try {
    const { size } = await stat(path);
    const start = Math.max(0, size - MAX_READ_BYTES);
    const lines = (await text(createReadStream(path, { start }))).split('\n');
    return lines.slice(start > 0 ? 1 : 0, -1).slice(-count);
  } catch {
    return null;
  }
}
