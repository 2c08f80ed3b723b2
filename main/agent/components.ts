import type { AgentRecord } from '#shared/provider.ts';
import { createBodyBudget } from '../platform/body-budget.ts';
import type { Clock } from '../platform/clock.ts';
import type { HttpClient } from '../platform/http/types.ts';
import type { Log } from '../platform/log.ts';
import { agentUrl, interfaceAddresses, namesOf } from './addresses.ts';
import type { HostActivity } from './availability/host-activity.ts';
import type { OwnerMode } from './availability/policy.ts';
import type { OwnerRuleKey, OwnerRules } from './availability/rules.ts';
import { createAvailability, type Availability } from './availability/state.ts';
import type { EnginePlace } from './engines/addresses.ts';
import { createEngineWatch, type EngineWatch } from './engines/watch.ts';
import { agentRecord } from './record.ts';
import type { OwnRegistry } from './registration/link.ts';
import { untilReady } from './registration/heartbeats.ts';
import { createRegistration, type Registration } from './registration/registration.ts';
import { type Counters, createCounters } from './server/counters.ts';
import { closedError } from './server/errors.ts';
import { healthBody, proofBody } from './server/health.ts';
import { createInference, type EngineTarget, type Inference } from './server/inference.ts';
import {
  type AgentAddress,
  type AgentPort,
  type AgentServer,
  createAgentServer,
} from './server/server.ts';
import { createEnrollmentFile } from './storage/enrollment-file.ts';
import { type AgentIdentity, openIdentity } from './storage/identity.ts';
import type { FileWarning } from './storage/secret-file.ts';
import { createSequence } from './storage/sequence.ts';
import type { TelemetryWatch } from './telemetry/telemetry.ts';

/** Read on each use: settings change while the agent runs. */
export interface AgentSettings {
  readonly heartbeatMs: number;
  readonly region: string | null;
  /** Further names that are accepted in a `Host` header. */
  readonly allowedHosts: readonly string[];
  readonly maxBodyBytes: number;
  readonly maxBodiesInFlightBytes: number;
  readonly rules: OwnerRules;
}

export interface AgentDeps {
  readonly dataDirectory: string;
  readonly version: string;
  /** As in `process.platform`. */
  readonly platform: string;
  readonly address: AgentAddress;
  /** Set by the owner; null: the agent searches for one. */
  readonly engineUrl: string | null;
  /** Of the engine at `engineUrl`. */
  readonly engineApiKey: string | null;
  readonly registryUrl: string | null;
  /** Other gateways of the same pool. */
  readonly otherRegistryUrls: readonly string[];
  readonly enrollToken: string | null;
  readonly settings: () => AgentSettings;
  /** Rules that the environment sets, so that they cannot be changed while the program runs. */
  readonly heldRules: readonly OwnerRuleKey[];
  /** The registry of this process; null if there is none. */
  readonly ownRegistry: OwnRegistry | null;
  /** Ports of this program's other parts, which are never tried as an engine's. */
  readonly otherPorts: () => readonly number[];
  readonly telemetry: TelemetryWatch;
  readonly hostActivity: HostActivity;
  readonly http: HttpClient;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: Log;
  /** For tests; the engines' usual ports otherwise. */
  readonly enginePorts?: readonly number[];
}

/** Mutable state shared by the agent's components. */
export interface AgentRuntimeState {
  address: AgentAddress;
  ports: readonly AgentPort[];
  engine: EnginePlace;
  isLeaving: boolean;
}

export interface AgentComponents {
  readonly identity: AgentIdentity;
  /** About the agent's files, for the owner. */
  readonly warnings: readonly FileWarning[];
  readonly counters: Counters;
  readonly availability: Availability;
  readonly engines: EngineWatch;
  readonly inference: Inference;
  readonly registration: Registration;
  readonly server: AgentServer;
  mode(): OwnerMode;
  uptimeS(): number;
  /** The record that a heartbeat carries; `isGoodbye` marks the last one. */
  record(isGoodbye: boolean): AgentRecord;
}

/** Callbacks of the components. */
export interface AgentListeners {
  /** The view has changed, and possibly the record. */
  readonly changed: () => void;
  /** The number of running requests has changed. */
  readonly flightChanged: () => void;
}

/** Concurrent requests; an engine queues far fewer. */
const MAX_IN_FLIGHT = 256;

/** Nothing runs yet. */
export function createComponents(
  deps: AgentDeps,
  runtime: AgentRuntimeState,
  listeners: AgentListeners,
): AgentComponents {
  const { dataDirectory, clock, log, http, telemetry, platform, settings } = deps;
  const startedTicks = clock.ticks();
  const { identity, warnings: ofKey } = openIdentity(dataDirectory, clock, platform);
  const file = createEnrollmentFile(dataDirectory, clock, platform);
  const enrolled = file.load();
  const warnings = [...ofKey, enrolled.warning].filter((warning) => warning !== null);
  const counters = createCounters(dataDirectory, { clock, log });
  const availability = createAvailability(
    { ...deps, rules: () => settings().rules },
    listeners.changed,
  );
  const engines = createEngineWatch({
    http,
    clock,
    ownPorts: () => [...openPorts(runtime), ...deps.otherPorts()],
    ...runtime.engine,
    arePathsAllowed: false,
    changed() {
      if (engines.isStuck()) inference.endUnanswered();
      listeners.changed();
    },
  });
  const mode = () => availability.mode(inference.inFlight());
  const uptimeS = () => (clock.ticks() - startedTicks) / 1000;
  const record = (isGoodbye: boolean) =>
    agentRecord(telemetry.read(), engines.engine(), {
      mode: isGoodbye ? 'leaving' : mode().mode,
      inFlight: inference.inFlight(),
      ...counters.view(),
      region: settings().region,
      agentVersion: deps.version,
      agentUrl: agentUrl(runtime.address.host, openPorts(runtime)[0] ?? null),
      uptimeS: uptimeS(),
    });
  const inference = createInference({
    ...deps,
    counters,
    maxBodyBytes: () => settings().maxBodyBytes,
    // Bodies are forwarded unchanged.
    bodies: createBodyBudget(() => settings().maxBodiesInFlightBytes, 1),
    maxInFlight: MAX_IN_FLIGHT,
    engine: () => targetOf(engines),
    closed: () => closedNow(runtime.isLeaving, mode()),
    onInFlight: listeners.flightChanged,
    // So that gateways hear of it soon: a change of the engine's state sends a heartbeat.
    onTrouble: () => engines.look(),
    isStuck: () => engines.isStuck(),
  });
  const registration = createRegistration({
    ...deps,
    identity,
    record,
    untilReady: (signal) => untilReady({ engines, telemetry, clock }, signal),
    sequence: createSequence(dataDirectory, log),
    file,
    saved: enrolled.enrolment,
    own: deps.ownRegistry,
    configured: deps,
    heartbeatMs: () => settings().heartbeatMs,
    onChange: listeners.changed,
  });
  const hostNames = () => {
    const { hostname, tailnet } = telemetry.read();
    return namesOf(hostname, tailnet, [...interfaceAddresses(), ...settings().allowedHosts]);
  };
  const healthFacts = () => ({ identity, engine: engines.engine(), record: record(false) });
  const server = createAgentServer({
    access: { hostNames, tokenDigests: () => registration.tokenDigests() },
    inference,
    health: {
      full: (nonce) => healthBody(healthFacts(), nonce),
      proof: (nonce) => proofBody(healthFacts(), nonce),
    },
    clock,
    log,
  });
  const base = { identity, warnings, counters, availability };
  return { ...base, engines, inference, registration, server, mode, uptimeS, record };
}

export function openPorts({ ports }: AgentRuntimeState): readonly number[] {
  return ports.flatMap((port) => (port.kind === 'listening' ? [port.port] : []));
}

function targetOf(engines: EngineWatch): EngineTarget | null {
  const [address, view] = [engines.address(), engines.engine()];
  if (address === null || view === null) return null;
  const { origin, authorization } = address;
  return { origin, basePath: view.baseUrl.slice(origin.length), authorization };
}

function closedNow(isLeaving: boolean, { mode, reasons }: OwnerMode) {
  if (isLeaving) return closedError('leaving', []);
  return mode === 'on' ? null : closedError(mode, reasons);
}
