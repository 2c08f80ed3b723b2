import type { AgentMemory, AgentView, OwnerChoice } from '#shared/agent.ts';
import { isDeepStrictEqual } from 'node:util';
import type { JoinLine } from '#shared/join-line.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../platform/clock.ts';
import type { HttpClient } from '../platform/http/types.ts';
import type { Log } from '../platform/log.ts';
import { agentUrl, interfaceAddresses, isSamePlace, namesOf } from './addresses.ts';
import { createAvailability } from './availability/availability.ts';
import type { HostActivity } from './availability/host-activity.ts';
import { OWNER_RULE_SETTINGS, ownerRulesIn } from './availability/rules.ts';
import { ENGINE_PORTS } from '../engines/detect.ts';
import { createChangeMonitor } from './change-monitor.ts';
import { holds, type ModelAction } from './engines/tell-engine.ts';
import { createEngineWatch, pinnedEngine } from './engines/watch.ts';
import { engineAdvice, problemsOf, type WindowCut } from './problems.ts';
import { agentRecord, gpuFigures, agentModels } from './record.ts';
import { createRegistration } from './registration/registration.ts';
import { createSequence, type OwnRegistry } from './registration/link.ts';
import { untilReady } from './registration/heartbeats.ts';
import { createCounters } from './server/counters.ts';
import { closedError } from './server/errors.ts';
import { createInference } from './server/inference.ts';
import { createAgentServer } from './server/server.ts';
import { createEnrollmentFile, type FileWarning, openIdentity } from './storage.ts';
import { createMemoryKeeper, type MemoryKeeper, modeWithMemory } from './memory.ts';
import { createEnergyMeter, energyRecord, createPowerWatch } from './energy.ts';
import type { TelemetryWatch } from './telemetry/telemetry.ts';

export interface AgentDeps {
  /** Read on each use: settings change while the agent runs. */
  readonly config: () => Config;
  /** Whether an environment variable sets the setting at this path, such as `agent.onlyWhenIdle`. */
  readonly isFixed: (path: string) => boolean;
  readonly dataDirectory: string;
  /** What was wrong with the files of this program's other parts. */
  readonly warnings: readonly FileWarning[];
  readonly version: string;
  /** The registry of this process; null if there is none. */
  readonly ownRegistry: OwnRegistry | null;
  /** Ports of this program's other parts, which are never tried as an engine's. */
  readonly otherPorts: () => readonly number[];
  /** What the gateway of this process has seen of engines that cut prompts. */
  readonly cuts: () => readonly WindowCut[];
  /** Requests that the gateway of this process sends to an engine of this machine itself. */
  readonly directInFlight: () => number;
  readonly telemetry: TelemetryWatch;
  /** The view has changed, in more than times that pass. */
  readonly changed: () => void;
  readonly hostActivity: HostActivity;
  readonly http: HttpClient;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: Log;
  /** For tests; the engines' usual ports otherwise. */
  readonly enginePorts?: readonly number[];
}

type AgentComponents = ReturnType<typeof createComponents>;

type OwnMode = Pick<AgentView['owner'], 'mode' | 'reasons'>;

const LEAVING: OwnMode = { mode: 'leaving', reasons: ['The agent is stopping.'] };

/** Creates the parts of an agent, of which nothing runs yet. `changed`: the view has, and possibly the record. */
function createComponents(deps: AgentDeps, isLeaving: () => boolean, changed: () => void) {
  const { dataDirectory, clock, log, http, telemetry, config } = deps;
  const startedTicks = clock.ticks();
  const { identity, warnings: ofKey } = openIdentity(dataDirectory, clock);
  const file = createEnrollmentFile(dataDirectory, clock);
  const enrolled = file.load();
  const warnings = [...deps.warnings, ...ofKey, enrolled.warning].filter(
    (warning) => warning !== null,
  );
  const counters = createCounters(dataDirectory, { clock, log });
  const availability = createAvailability({
    dataDirectory,
    telemetry,
    hostActivity: deps.hostActivity,
    clock,
    log,
    settings: () => config().agent,
    inFlight: () => inference.inFlight(),
    lastEndedTicks: () => inference.lastEndedTicks(),
    changed,
  });
  const engines = createEngineWatch({
    http,
    clock,
    ownPorts: () => [...server.ports(), ...deps.otherPorts()],
    pinned: pinnedEngine(config().agent),
    ports: deps.enginePorts ?? ENGINE_PORTS,
    changed() {
      if (engines.isStuck()) inference.endUnanswered();
      changed();
    },
  });
  const mode = (): OwnMode =>
    isLeaving()
      ? LEAVING
      : modeWithMemory(availability.mode(), memory.state(), inference.inFlight());
  const uptimeS = () => (clock.ticks() - startedTicks) / 1000;
  /** The record that a heartbeat carries; `isGoodbye` marks the last one. */
  const record = (isGoodbye: boolean) =>
    agentRecord(telemetry.read(), engines.engine(), {
      mode: isGoodbye ? 'leaving' : mode().mode,
      inFlight: inference.inFlight(),
      ...counters.view(),
      region: config().agent.region,
      agentVersion: deps.version,
      agentUrl: agentUrl(config().agent.host, server.ports()[0] ?? null),
      uptimeS: uptimeS(),
      energy: energyRecord(meter.view()),
    });
  const meter = createEnergyMeter();
  const power = createPowerWatch({ telemetry, meter, clock });
  const inference = createInference({
    http,
    clock,
    counters,
    energyBegan(model) {
      const ended = meter.began(model ?? engines.engine()?.currentModel ?? '', clock.ticks());
      power.look();
      return (tokens) => ended(clock.ticks(), tokens);
    },
    limits: () => config().gateway,
    engine: () => engines.target(),
    closed() {
      const { mode: now, reasons } = mode();
      return now === 'on' ? null : closedError(now, reasons);
    },
    onInFlight() {
      // A draining machine becomes paused when its last request ends, and only then does the registry need to hear of
      // it.
      if (mode().mode === 'on') deps.changed();
      else changed();
    },
    // Gateways hear of it soon, because a change of the engine's state sends a heartbeat.
    onTrouble: () => engines.look(),
    // What it has just loaded is worth a reading: gateways prefer a machine that has a model in memory.
    onAnswer(model) {
      const loaded = engines.engine()?.loaded ?? null;
      if (model !== null && loaded !== null && !holds(loaded, model)) engines.look();
    },
    isStuck: () => engines.isStuck(),
  });
  const memory = createMemoryKeeper({
    dataDirectory,
    http,
    clock,
    log,
    engines,
    goal: () => availability.memoryGoal(),
    idleUnloadMs: () => minutes(config().agent.idleUnloadMin),
    inFlight: () => inference.inFlight() + deps.directInFlight(),
    lastEndedTicks: () => inference.lastEndedTicks(),
    endRunning: () => inference.endAll(),
    changed,
  });
  const registration = createRegistration({
    http,
    clock,
    random: deps.random,
    identity,
    record,
    untilReady: (signal) => untilReady({ engines, telemetry, clock }, signal),
    sequence: createSequence(clock),
    file,
    saved: enrolled.enrolment,
    own: deps.ownRegistry,
    settings: () => config().agent,
    onChange: changed,
  });
  const hostNames = () => {
    const { hostname, tailnet } = telemetry.read();
    return namesOf(hostname, tailnet, [...interfaceAddresses(), ...config().gateway.allowedHosts]);
  };
  const server = createAgentServer({
    access: { hostNames, tokenDigests: () => registration.tokenDigests() },
    inference,
    health: () => ({ identity, engine: engines.engine(), record: record(false) }),
    clock,
    log,
    changed,
  });
  const base = { identity, warnings, counters, availability, engines, memory, meter, power };
  return { ...base, inference, registration, server, mode, uptimeS, record, hostNames };
}

const minutes = (count: number | null) => (count === null ? null : count * 60_000);

function viewOf(
  parts: AgentComponents,
  deps: Pick<AgentDeps, 'version' | 'telemetry' | 'isFixed' | 'config' | 'cuts'>,
): AgentView {
  const { engines, availability, warnings, memory } = parts;
  const ports = parts.server.listeners();
  const record = parts.record(false);
  const registry = parts.registration.view();
  const engine = engines.engine();
  const reading = deps.telemetry.read();
  const { agent: settings, gateway } = deps.config();
  const { host } = settings;
  const own = problemsOf({ host, ports, registry, warnings });
  const isServing = engine?.health.status === 'ok';
  const isCpuOnly = reading.gpus.state === 'absent' && isServing;
  // Without a GPU, all models run on the processor.
  const advice = isServing && !isCpuOnly ? engineAdvice(engine, deps.cuts()) : [];
  return {
    id: parts.identity.id,
    version: deps.version,
    uptimeS: Math.floor(parts.uptimeS()),
    owner: {
      choice: availability.choice(),
      freed: availability.freed(),
      rules: ownerRulesIn(settings),
      ...parts.mode(),
      heldRules: OWNER_RULE_SETTINGS.filter((key) => deps.isFixed(`agent.${key}`)),
      unjudgeable: availability.unjudgeable(),
    },
    server: { host, ports, url: record.agent_url },
    registry,
    engine,
    engines: engines.engines(),
    models: agentModels(engines.engines(), memory.since),
    memory: memoryView(memory),
    energy: {
      ...parts.meter.view(),
      priceKwh: gateway.electricityPriceKwh,
      currency: gateway.currency,
    },
    record,
    inFlight: parts.inference.inFlight(),
    useEngineDirectly: isCpuOnly ? engine.baseUrl : null,
    problems: [...own, ...memory.problems(), ...advice, ...reading.gpus.problems],
  };
}

function memoryView(memory: MemoryKeeper): AgentMemory {
  const said = memory.problems().map(({ happened, remedy }) => `${happened}. ${remedy}`);
  return {
    state: memory.state().kind,
    toLoad: memory.toLoad().map(({ model }) => model),
    problem: said.length === 0 ? null : said.join(' '),
  };
}

export type Agent = ReturnType<typeof createAgent>;

/** Nothing runs before `start`. */
export function createAgent(deps: AgentDeps) {
  const { clock, telemetry, log } = deps;
  let isLeaving = false;
  const parts = createComponents(deps, () => isLeaving, changed);
  const { availability, engines, inference, registration, memory, server } = parts;
  const changeMonitor = createChangeMonitor({ clock, telemetry, log, ...parts });

  function changed(): void {
    memory.look();
    changeMonitor.look();
    deps.changed();
  }

  return {
    /** Resolves once each port is bound or known to be taken; a taken port is not an error. */
    async start() {
      telemetry.start();
      await server.listen(deps.config().agent);
      engines.start();
      memory.start();
      registration.start();
      changeMonitor.start();
    },
    /** Sends a goodbye; running requests may finish for `graceMs`. */
    async stop(graceMs: number) {
      isLeaving = true;
      changeMonitor.stop();
      memory.stop();
      parts.power.stop();
      engines.stop();
      await Promise.all([registration.stop(), server.close(graceMs), telemetry.stop()]);
      await parts.counters.flush();
    },
    ports: server.ports,
    /** If there is no engine, the reader may be starting one, so the search does not wait for its turn. */
    view() {
      if (engines.engine() === null) engines.look();
      return viewOf(parts, deps);
    },
    /** The last reading; does not call a driver. */
    gpus: () => gpuFigures(telemetry.read()),
    /**
     * Sets the mode that the owner wants; resolves once it is on disk. `paused` ends running requests, `drained` lets
     * them finish.
     */
    setMode(choice: OwnerChoice) {
      const saved = availability.setChoice(choice);
      if (choice === 'paused') inference.endAll();
      return saved;
    },
    /**
     * Unloads all models and takes no requests for so long, or until the mode is `on`; resolves once the memory is free,
     * or whatever keeps it taken is known.
     */
    async free(forMin: number | null) {
      const wasFreed = availability.freed() !== null;
      const untilMs = forMin === null ? null : clock.now() + forMin * 60_000;
      await availability.setFreed({ untilMs });
      await (wasFreed ? memory.freeNow() : memory.settled());
      telemetry.look();
    },
    /** Loads a model, or unloads it, when no request runs; resolves once the engine says that it has. */
    async changeModel(action: ModelAction, model: string) {
      const result = await memory.change(action, model);
      telemetry.look();
      return result;
    },
    /** The engine in use, if the machine of that id is this one. */
    engineOf(id: string) {
      const [served] = id === parts.identity.id ? engines.reachable() : [];
      return served === undefined ? null : { kind: served.view.kind, address: served.address };
    },
    readEngines: () => engines.readNow(),
    /** Whether an engine at that origin is to get no requests, because its memory is freed or its models change. */
    holdsBack: (origin: string) =>
      memory.state().kind !== 'kept' &&
      engines
        .reachable()
        .some(({ address }) => isSamePlace(address.origin, origin, parts.hostNames())),
    join: (line: JoinLine) => registration.join(line),
    leave: () => registration.leave(),
    /** Applies changed settings: rules, address, engine and registry. */
    configured({ agent: now }: Config, { agent: before }: Config) {
      const isChanged = (...keys: readonly (keyof Config['agent'])[]) =>
        keys.some((key) => !isDeepStrictEqual(now[key], before[key]));
      availability.look();
      // Running requests continue.
      if (isChanged('host', 'ports')) void server.listen(now);
      if (isChanged('engineUrl', 'engineApiKey')) {
        engines.seek(pinnedEngine(now));
        changed();
      }
      if (isChanged('registryUrl', 'otherRegistryUrls', 'enrollToken'))
        void registration.configure();
    },
  };
}
