import type { AgentView, OwnerChoice } from '#shared/agent.ts';
import { isDeepStrictEqual } from 'node:util';
import type { JoinLine } from '#shared/join-line.ts';
import type { Config } from '../config/schema.ts';
import { agentUrl, interfaceAddresses, isOnThisMachine, namesOf } from './addresses.ts';
import { createAvailability } from './availability/availability.ts';
import { OWNER_RULE_SETTINGS, ownerRulesIn } from './availability/rules.ts';
import { ENGINE_PORTS } from '../engines/detect.ts';
import { createChangeMonitor } from './change-monitor.ts';
import type { AgentContext } from './context.ts';
import type { ModelAction } from './engines/tell-engine.ts';
import { createEngineWatch, pinnedEngine } from './engines/watch.ts';
import { engineAdvice, problemsOf } from './problems.ts';
import { agentRecord, gpuFigures, agentModels } from './record.ts';
import { createRegistration } from './registration/registration.ts';
import { createCounters } from './server/counters.ts';
import { createInference } from './server/inference.ts';
import { createAgentServer } from './server/server.ts';
import { createEnrollmentFile, openIdentity } from './storage.ts';
import { createMemoryKeeper, modeWithMemory } from './memory.ts';
import { createEnergyMeter, energyRecord, createPowerWatch } from './energy.ts';

type AgentComponents = ReturnType<typeof createComponents>;

type OwnMode = Pick<AgentView['owner'], 'mode' | 'reasons'>;

const LEAVING: OwnMode = { mode: 'leaving', reasons: ['The agent is stopping.'] };

/** Creates the parts of an agent, of which nothing runs yet. `changed`: the view has, and possibly the record. */
function createComponents(context: AgentContext, isLeaving: () => boolean, changed: () => void) {
  const { dataDirectory, clock, http, telemetry, config } = context;
  const startedTicks = clock.ticks();
  const { identity, warnings: ofKey } = openIdentity(dataDirectory, clock);
  const file = createEnrollmentFile(dataDirectory, clock);
  const { enrolment: saved, warning: ofFile } = file.load();
  const counters = createCounters(context);
  const engines = createEngineWatch({
    http,
    clock,
    ownPorts: () => [...server.ports(), ...context.otherPorts()],
    pinned: pinnedEngine(config().agent),
    ports: context.enginePorts ?? ENGINE_PORTS,
    changed() {
      if (engines.isStuck()) inference.endUnanswered();
      changed();
    },
  });
  const ownersMode = (): OwnMode =>
    modeWithMemory(availability.mode(), memory.state(), inference.inFlight());
  const mode = () => (isLeaving() ? LEAVING : ownersMode());
  const uptimeS = () => (clock.ticks() - startedTicks) / 1000;
  /** The record that a heartbeat carries; `isGoodbye` marks the last one. */
  const record = (isGoodbye: boolean) =>
    agentRecord(telemetry.read(), engines.engine(), {
      mode: isGoodbye ? 'leaving' : mode().mode,
      inFlight: inference.inFlight(),
      ...counters.view(),
      region: config().agent.region,
      agentVersion: context.version,
      agentUrl: agentUrl(config().agent.host, server.ports()[0] ?? null),
      uptimeS: uptimeS(),
      energy: energyRecord(meter.view()),
    });
  const meter = createEnergyMeter();
  const power = createPowerWatch(context, meter);
  const inference = createInference(context, {
    engines,
    counters,
    power,
    mode,
    onInFlight() {
      // A draining machine becomes paused when its last request ends, and only then does the registry need to hear of
      // it.
      if (mode().mode === 'on') context.changed();
      else changed();
    },
  });
  const availability = createAvailability(context, inference, changed);
  const memory = createMemoryKeeper(context, { engines, availability, inference, changed });
  const registration = createRegistration(context, {
    identity,
    file,
    saved,
    engines,
    record,
    changed,
  });
  const hostNames = () => {
    const { hostname, tailnet } = telemetry.read();
    return namesOf(hostname, tailnet, [...interfaceAddresses(), ...config().gateway.allowedHosts]);
  };
  const server = createAgentServer(context, {
    access: { hostNames, tokenDigests: () => registration.tokenDigests() },
    inference,
    health: () => ({ identity, engine: engines.engine(), record: record(false) }),
    changed,
  });
  const warnings = [...context.warnings, ...ofKey, ofFile, availability.warning].filter(
    (warning) => warning !== null,
  );
  const base = { identity, warnings, counters, availability, engines, memory, meter, power };
  return { ...base, inference, registration, server, mode, ownersMode, uptimeS, record, hostNames };
}

function viewOf(parts: AgentComponents, context: AgentContext): AgentView {
  const { engines, availability, warnings, memory } = parts;
  const record = parts.record(false);
  const registry = parts.registration.view();
  const engine = engines.engine();
  const reading = context.telemetry.read();
  const { agent: settings, gateway } = context.config();
  const server = { host: settings.host, ports: parts.server.listeners(), url: record.agent_url };
  const own = problemsOf(server, registry, warnings);
  const isServing = engine?.health.status === 'ok';
  const isCpuOnly = reading.gpus.state === 'absent' && isServing;
  // Without a GPU, all models run on the processor.
  const advice = isServing && !isCpuOnly ? engineAdvice(engine, context.cuts()) : [];
  return {
    id: parts.identity.id,
    version: context.version,
    uptimeS: Math.floor(parts.uptimeS()),
    owner: {
      choice: availability.choice(),
      freed: availability.freed(),
      rules: ownerRulesIn(settings),
      ...parts.mode(),
      heldRules: OWNER_RULE_SETTINGS.filter((key) => context.isFixed(`agent.${key}`)),
      unjudgeable: availability.unjudgeable(),
    },
    server,
    registry,
    engine,
    engines: engines.engines(),
    models: agentModels(engines.engines(), memory.since),
    memory: memory.view(),
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

export type Agent = ReturnType<typeof createAgent>;

/** Nothing runs before `start`. */
export function createAgent(context: AgentContext) {
  const { clock, telemetry } = context;
  let isLeaving = false;
  const parts = createComponents(context, () => isLeaving, changed);
  const { availability, engines, inference, registration, memory, server } = parts;
  const changeMonitor = createChangeMonitor(context, {
    record: () => parts.record(false),
    looks: [() => availability.look(), memory.look, parts.power.look],
    changed() {
      registration.changed();
      context.changed();
    },
  });

  function changed(): void {
    memory.look();
    changeMonitor.look();
    context.changed();
  }

  return {
    /** Resolves once each port is bound or known to be taken; a taken port is not an error. */
    async start() {
      telemetry.start();
      await server.listen(context.config().agent);
      engines.start();
      memory.start();
      registration.start();
      changeMonitor.start();
      availability.start();
    },
    /** Sends a goodbye; running requests may finish for `graceMs`. */
    async stop(graceMs: number) {
      isLeaving = true;
      changeMonitor.stop();
      availability.stop();
      memory.stop();
      parts.power.stop();
      engines.stop();
      await Promise.all([registration.stop(), server.close(graceMs), telemetry.stop()]);
      await Promise.all([parts.counters.flush(), availability.flush()]);
    },
    ports: server.ports,
    /** If there is no engine, the reader may be starting one, so the search does not wait for its turn. */
    view() {
      if (engines.engine() === null) engines.look();
      return viewOf(parts, context);
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
      await availability.free(forMin === null ? null : clock.now() + forMin * 60_000);
      await (wasFreed ? memory.freeNow() : memory.settled());
      telemetry.look();
    },
    /** Loads a model, or unloads it, when no request runs; resolves once the engine says that it has. */
    async changeModel(action: ModelAction, model: string) {
      const result = await memory.change(action, model);
      telemetry.look();
      return result;
    },
    /** This machine has slept, or is in another network: everything known may be wrong. */
    resumed() {
      engines.look();
      telemetry.look();
      registration.now();
    },
    /** The engine in use, if the machine of that id is this one. */
    engineOf(id: string) {
      const [served] = id === parts.identity.id ? engines.reachable() : [];
      return served === undefined ? null : { kind: served.view.kind, address: served.address };
    },
    readEngines: () => engines.readNow(),
    /** Whether an engine at that origin is to get no requests: it is on this machine, whose owner wants none. */
    holdsBack: (origin: string) =>
      parts.ownersMode().mode !== 'on' && isOnThisMachine(origin, parts.hostNames),
    isHere: (origin: string) => isOnThisMachine(origin, parts.hostNames),
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
