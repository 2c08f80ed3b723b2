import type { DoctorReport } from '#shared/agent.ts';
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
import { enginePlace } from './engines/addresses.ts';
import type { Configured } from './registration/choose-registry.ts';
import type { JoinResult } from './registration/registration.ts';
import type { AgentAddress, AgentPort } from './server/server.ts';
import { type AgentView, viewOf } from './view.ts';

/** The agent of this machine. */
export interface Agent {
  /** Resolves once its ports are bound, or known to be taken; neither ends anything. */
  start(): Promise<void>;
  /** Says goodbye; running requests may finish for `graceMs`. */
  stop(graceMs: number): Promise<void>;
  view(): AgentView;
  /** The ports that it has bound. */
  ports(): readonly number[];
  /** Hears of each change to the view but the passing of time; gives the way to stop hearing. */
  subscribe(listener: () => void): () => void;
  /** The owner's wish; resolves once it is on disk. `paused` ends what runs, `drained` lets it finish. */
  setMode(wish: OwnerWish): Promise<void>;
  /** The owner's rules may be others in the settings: they are judged at once. */
  rulesChanged(): void;
  /** The machine was asleep. */
  resumeFromSuspend(): void;
  join(url: string, token: string): Promise<JoinResult>;
  leave(): Promise<void>;
  /** Listens at another address; what runs goes on. */
  listen(address: AgentAddress): Promise<readonly AgentPort[]>;
  /** Serves the engine at this address from now on; null to look for one. */
  serveEngineAt(url: string | null): void;
  /** Reports where these settings say from now on. */
  reportTo(configured: Configured): Promise<void>;
  /** Runs the checks of a registry from this side; whoever asks meanwhile hears the same. */
  runChecks(): Promise<DoctorReport>;
}

/** Puts the agent together; nothing runs before `start`. */
export function createAgent(deps: AgentDeps): Agent {
  const { telemetry, log } = deps;
  const listeners = new Set<() => void>();
  const moment: AgentRuntimeState = {
    address: deps.address,
    ports: [],
    engine: enginePlace(deps.engineUrl, deps.enginePorts),
    isLeaving: false,
  };
  let exam: Promise<DoctorReport> | null = null;
  const parts = createComponents(deps, moment, {
    changed,
    flightChanged() {
      // Only then does it change what the registry is told: a machine that drains is paused at the end.
      if (parts.mode().mode === 'on') tellListeners();
      else changed();
    },
  });
  const { ownership, engines, inference, membership, server, counters } = parts;
  const observer = createAvailabilityMonitor({ ...deps, ...parts });
  const watchfulness = createChangeMonitor({ ...deps, ...parts, observer });

  function tellListeners(): void {
    for (const listener of listeners) listener();
  }

  function changed(): void {
    watchfulness.look();
    tellListeners();
  }

  async function listen(address: AgentAddress): Promise<readonly AgentPort[]> {
    moment.address = address;
    moment.ports = await server.listen(address);
    for (const port of moment.ports) {
      if (port.kind === 'failed') log('warn', 'agent_port', { port: port.port, why: port.message });
    }
    changed();
    return moment.ports;
  }

  return {
    async start() {
      telemetry.start();
      await listen(moment.address);
      engines.start();
      membership.start();
      watchfulness.start();
    },
    async stop(graceMs) {
      moment.isLeaving = true;
      watchfulness.stop();
      engines.stop();
      await Promise.all([membership.stop(), server.close(graceMs), telemetry.stop()]);
      await counters.flush();
    },
    ports: () => openPorts(moment),
    view: () => viewOf(parts, moment, { deps, unjudgeable: observer.unjudgeable() }),
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    setMode(wish) {
      const saved = ownership.setWish(wish);
      if (wish === 'paused') inference.endAll();
      return saved;
    },
    rulesChanged: () => observer.look(),
    resumeFromSuspend: () => watchfulness.resumed(),
    join: (url, token) => membership.join(url, token),
    leave: () => membership.leave(),
    listen,
    serveEngineAt(url) {
      moment.engine = enginePlace(url, deps.enginePorts);
      engines.seek(moment.engine);
      changed();
    },
    reportTo: (configured) => membership.configure(configured),
    runChecks() {
      exam ??= selfCheck(parts, moment, deps).finally(() => (exam = null));
      return exam;
    },
  };
}
