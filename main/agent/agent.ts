import type { DoctorReport, GpuFigures } from '#shared/agent.ts';
import { createAvailabilityMonitor } from './availability/monitor.ts';
import type { OwnerWish } from './availability/policy.ts';
import { createChangeMonitor } from './change-monitor.ts';
import {
  type AgentDeps,
  type AgentRuntimeState,
  createComponents,
  openPorts,
} from './components.ts';
import { selfCheck } from './doctor/self-check.ts';
import { enginePlace, type EngineSettings } from './engines/addresses.ts';
import { gpuFigures } from './record.ts';
import type { RegistrySettings, Registration } from './registration/registration.ts';
import { createPortRetry } from './server/port-retry.ts';
import type { AgentAddress, AgentPort } from './server/server.ts';
import { type AgentView, viewOf } from './view.ts';

export interface Agent {
  /** Resolves once each port is bound or known to be taken; a taken port is not an error. */
  start(): Promise<void>;
  /** Sends a goodbye; running requests may finish for `graceMs`. */
  stop(graceMs: number): Promise<void>;
  view(): AgentView;
  /** The last reading; does not call a driver. */
  gpus(): readonly GpuFigures[];
  ports(): readonly number[];
  /**
   * `listener` is called on each change of the view, except for times that pass. Returns the unsubscribe function.
   */
  subscribe(listener: () => void): () => void;
  /**
   * Sets the mode that the owner wants; resolves once it is on disk. `paused` ends running requests, `drained` lets
   * them finish.
   */
  setMode(wish: OwnerWish): Promise<void>;
  /** Evaluates the owner's rules at once, because their settings may have changed. */
  rulesChanged(): void;
  /** The machine has woken from sleep. */
  resumeFromSuspend(): void;
  join: Registration['join'];
  leave(): Promise<void>;
  /** Moves to another address; running requests continue. */
  listen(address: AgentAddress): Promise<readonly AgentPort[]>;
  serveEngineAt(settings: EngineSettings): void;
  /** Reports to the registry that these settings name. */
  reportTo(configured: RegistrySettings): Promise<void>;
  /** Runs a registry's checks on this machine; concurrent callers share one run. */
  runChecks(): Promise<DoctorReport>;
}

/** Nothing runs before `start`. */
export function createAgent(deps: AgentDeps): Agent {
  const { telemetry } = deps;
  const listeners = new Set<() => void>();
  const runtime: AgentRuntimeState = {
    address: deps.address,
    ports: [],
    engine: enginePlace({ url: deps.engineUrl, apiKey: deps.engineApiKey }, deps.enginePorts),
    isLeaving: false,
  };
  let checkRun: Promise<DoctorReport> | null = null;
  const parts = createComponents(deps, runtime, {
    changed,
    flightChanged() {
      // A draining machine becomes paused when its last request ends, and only then does the registry need to hear of
      // it.
      if (parts.mode().mode === 'on') tellListeners();
      else changed();
    },
  });
  const { availability, engines, inference, registration, server, counters } = parts;
  const availabilityMonitor = createAvailabilityMonitor({ ...deps, ...parts });
  const changeMonitor = createChangeMonitor({ ...deps, ...parts, availabilityMonitor });

  const portRetry = createPortRetry(server, deps, (ports) => {
    runtime.ports = ports;
    changed();
  });

  function tellListeners(): void {
    for (const listener of listeners) listener();
  }

  function changed(): void {
    changeMonitor.look();
    tellListeners();
  }

  async function listen(address: AgentAddress): Promise<readonly AgentPort[]> {
    runtime.address = address;
    runtime.ports = await server.listen(address);
    changed();
    portRetry.watch(runtime.ports);
    return runtime.ports;
  }

  return {
    async start() {
      telemetry.start();
      await listen(runtime.address);
      engines.start();
      registration.start();
      changeMonitor.start();
    },
    async stop(graceMs) {
      runtime.isLeaving = true;
      portRetry.stop();
      changeMonitor.stop();
      engines.stop();
      await Promise.all([registration.stop(), server.close(graceMs), telemetry.stop()]);
      await counters.flush();
    },
    ports: () => openPorts(runtime),
    view: () => viewOf(parts, runtime, { deps, unjudgeable: availabilityMonitor.unjudgeable() }),
    gpus: () => gpuFigures(telemetry.read()),
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    setMode(wish) {
      const saved = availability.setWish(wish);
      if (wish === 'paused') inference.endAll();
      return saved;
    },
    rulesChanged: () => availabilityMonitor.look(),
    resumeFromSuspend: () => changeMonitor.resumed(),
    join: (line) => registration.join(line),
    leave: () => registration.leave(),
    listen,
    serveEngineAt(settings) {
      runtime.engine = enginePlace(settings, deps.enginePorts);
      engines.seek(runtime.engine);
      changed();
    },
    reportTo: (configured) => registration.configure(configured),
    runChecks() {
      checkRun ??= selfCheck(parts, runtime, deps).finally(() => (checkRun = null));
      return checkRun;
    },
  };
}
