import { setTimeout } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { createAgent } from '../../main/agent/agent.ts';
import type { AgentContext } from '../../main/agent/context.ts';
import { UNKNOWN_HOST_ACTIVITY } from '../../main/agent/availability/host-activity.ts';
import type { AgentState } from '../../main/agent/record.ts';
import type { OwnRegistry } from '../../main/agent/registration/link.ts';
import { type GpuDevice, UNREAD } from '../../main/agent/telemetry/gpu-device.ts';
import type { Telemetry, TelemetryWatch } from '../../main/agent/telemetry/telemetry.ts';
import type { Config } from '../../main/config/schema.ts';
import { createHttpClient } from '../../main/platform/http/client.ts';
import { silentLog } from '../../main/platform/log.ts';
import { createManualClock, type ManualClock } from './clock.ts';
import { configOf } from './config.ts';
import { temporaryDirectory } from './gateway.ts';
import { json, lists, type Script, startUpstream, type Upstream } from './upstream.ts';

/** The GPU of the machines in tests. */
export const CARD: GpuDevice = {
  ...UNREAD,
  key: 'GPU-1',
  vendor: 'nvidia',
  name: 'NVIDIA GeForce RTX 4090',
  memoryTotalMb: 24_564,
  utilGpu: 0,
  temperatureC: 41,
};

/** What an agent knows of itself for its record. */
export const AGENT_STATE: AgentState = {
  mode: 'on',
  inFlight: 0,
  requestsServed: 17,
  tokensGenerated: 5120,
  decodeTps: null,
  lastModel: null,
  region: null,
  agentVersion: '0.1.0',
  agentUrl: 'http://192.168.1.20:3001',
  uptimeS: 86_400.9,
  energy: undefined,
};

/** Telemetry that a test sets. */
interface SetTelemetry extends TelemetryWatch {
  now: Telemetry;
  /** How often it was to be read again at once. */
  looks: number;
  /** Replaces fields of the one GPU. */
  card(part: Partial<GpuDevice>): void;
}

/** A machine with one GPU and nothing else of note. */
export function setTelemetry(): SetTelemetry {
  const telemetry: SetTelemetry = {
    now: {
      gpus: { state: 'reading', devices: [CARD], problems: [] },
      cores: { total: 8, performance: 8, efficiency: 0 },
      machineModel: null,
      hostname: 'tower',
      platform: 'linux',
      memoryBytes: 1024 ** 3,
      tailnet: null,
    },
    card(part) {
      const { gpus } = telemetry.now;
      telemetry.now = { ...telemetry.now, gpus: { ...gpus, devices: [{ ...CARD, ...part }] } };
    },
    looks: 0,
    start() {},
    look: () => void (telemetry.looks += 1),
    read: () => telemetry.now,
    stop: () => Promise.resolve(),
  };
  return telemetry;
}

/** What the agent depends on, and its settings. */
type Parts = Partial<AgentContext> & Partial<Config['agent']> & { readonly clock?: ManualClock };

/** Starts an agent on free ports of loopback; it is stopped with the test. */
export async function startAgent(given: Parts = {}) {
  const { clock = createManualClock() } = given;
  const telemetry = setTelemetry();
  const http = createHttpClient();
  const directory = given.dataDirectory ?? temporaryDirectory();
  const { agent: defaults, gateway, ...rest } = configOf({});
  const limits = { maxBodyBytes: 1_000_000, maxBodiesInFlightBytes: 2_500_000 };
  let config: Config = {
    ...rest,
    gateway: { ...gateway, ...limits },
    agent: { ...defaults, ports: [0], region: 'attic', ...given },
  };
  const agent = createAgent({
    warnings: [],
    version: '1.2.3',
    config: () => config,
    isFixed: () => false,
    listenFor: () => Promise.resolve(null),
    ownRegistry: null,
    otherPorts: () => [],
    cuts: () => [],
    changed() {},
    direct: { inFlight: () => 0, endAll() {} },
    telemetry,
    hostActivity: UNKNOWN_HOST_ACTIVITY,
    http,
    random: () => 0.5,
    log: silentLog,
    enginePorts: [],
    ...given,
    clock,
    dataDirectory: directory,
  });
  let stopped: Promise<void> | null = null;
  const stop = () => (stopped ??= agent.stop(0).then(() => http.close()));
  onTestFinished(async () => {
    const ending = stop();
    // The grace of a server that stands still in time.
    await settled(ending, clock);
  });
  await agent.start();
  const [port] = agent.view().server.ports;
  return {
    agent,
    clock,
    telemetry,
    directory,
    /** Where the agent answers. */
    url: `http://127.0.0.1:${port?.port ?? 0}`,
    /** Changes settings. */
    set: (part: Partial<Config['agent']>) => {
      const before = config;
      config = { ...config, agent: { ...config.agent, ...part } };
      agent.configured(config, before);
    },
    /** Ends it as its owner would; later calls do nothing. */
    stop,
  };
}

/** Waits for something while time is moved on, in case that it waits for time. */
export async function settled(what: Promise<unknown>, clock: ManualClock): Promise<void> {
  let isSettled = false;
  void what.finally(() => (isSettled = true));
  await until(() => {
    clock.advance(100);
    return isSettled;
  });
}

/** Lets all that is due happen once. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A test that waits for ever must fail, and stop waiting; a busy machine needs long for a process. */
const PATIENCE_MS = 45_000;
/** What takes more turns than these waits for a process or a disk: others may have the processor. */
const BUSY_TURNS = 200;

/** Resolves once `isSo`. */
export async function until(isSo: () => boolean): Promise<void> {
  const begun = performance.now();
  for (let turns = 0; !isSo(); turns += 1) {
    if (performance.now() - begun > PATIENCE_MS) throw new Error(`never so: ${String(isSo)}`);
    await (turns < BUSY_TURNS ? turn() : setTimeout(5));
  }
}

/** An engine that lists one model and answers chat completions as its script says. */
export async function startModelServer(...scripts: readonly Script[]): Promise<Upstream> {
  const engine = await startUpstream(...scripts);
  engine.answerGet = (get) => (get.path === '/v1/models' ? lists({ id: 'm' }) : json(404, {}))(get);
  return engine;
}

/** An agent that serves such an engine, once it has found it. */
export async function startServing(engine: Upstream, given: Parts = {}) {
  const machine = await startAgent({ engineUrl: engine.url, ...given });
  await until(() => machine.agent.view().engine?.health.status === 'ok');
  return machine;
}

/** A registry in this process that takes everything, and what it was told. */
export function hearingRegistry(): OwnRegistry & { readonly statuses: string[] } {
  const statuses: string[] = [];
  return {
    statuses,
    adopt: () => Promise.resolve({ id: 'prv', gatewayToken: 'a'.repeat(64) }),
    heartbeat(_id, { status }) {
      statuses.push(status);
      const verification = { status: 'pending', routable: false, failure_reason: '' };
      const body = { status, verification, heartbeat_ms: 15_000 };
      return Promise.resolve({ kind: 'answered', status: 200, body });
    },
  };
}

/** The token of that registry's gateway. */
export const GATEWAY_TOKEN = 'a'.repeat(64);
