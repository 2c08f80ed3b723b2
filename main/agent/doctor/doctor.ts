import type { GatewayVerdict } from '#shared/agent.ts';
import { newSecret } from '../../platform/secrets.ts';
import { agentRecord, type AgentState } from '../record.ts';
import type { TelemetryWatch } from '../telemetry/telemetry.ts';
import { checkAgent, type ExpectedAgent } from './agent-checks.ts';
import { type EngineSearch, type EngineSearchResult, findEngine } from './find-engine.ts';
import { checkInference, type ProbedPlace, type ProbeEdges } from './inference-checks.ts';
import { checkEngineHealth, checkGpus, firstReading } from './machine-checks.ts';
import { type DoctorReport, reportOf } from './report.ts';

export interface DoctorDeps extends ProbeEdges {
  readonly agent: ExpectedAgent;
  readonly engines: EngineSearch;
  /** Started and stopped by the caller. */
  readonly telemetry: TelemetryWatch;
  readonly gateway: GatewayVerdict | null;
}

/** The state of an agent that has served nothing; the checks do not depend on it. */
const UNUSED: AgentState = {
  mode: 'on',
  inFlight: 0,
  requestsServed: 0,
  tokensGenerated: 0,
  decodeTps: null,
  lastModel: null,
  region: null,
  agentVersion: '',
  agentUrl: '',
  uptimeS: 0,
};

/**
 * Runs the verification checks of a registry (docs/agent-protocol.md) from this side, and the checks that they depend
 * on.
 */
export async function runChecks(deps: DoctorDeps): Promise<DoctorReport> {
  const { agent, telemetry, clock } = deps;
  const nonce = newSecret();
  const [search, found, reading] = await Promise.all([
    findEngine(deps.engines, deps),
    checkAgent(agent, nonce, deps),
    firstReading(telemetry, clock),
  ]);
  const view = search.engine?.view ?? null;
  const record = agentRecord(reading, view, UNUSED);
  const place = placeOf(found.origin, agent, search);
  const { current_model: model, engine_health: health } = record;
  // If an unhealthy engine offers no model, the engine has to be fixed first.
  const isWorthTrying = model !== null || health.status === 'ok';
  const inference =
    place !== null && isWorthTrying ? await checkInference(place, model, nonce, deps) : [];
  const entries = [
    search.entry,
    ...found.entries,
    checkEngineHealth(record, view?.baseUrl ?? null),
    checkGpus(record, reading, view?.baseUrl ?? null),
    ...inference,
  ];
  return reportOf(entries, deps.gateway);
}

/** Prefers the agent to the engine, because gateways talk to the agent. */
function placeOf(
  agentOrigin: string | null,
  { gatewayToken }: ExpectedAgent,
  { engine }: EngineSearchResult,
): ProbedPlace | null {
  if (agentOrigin !== null) return { origin: agentOrigin, basePath: '', gatewayToken };
  if (engine === null) return null;
  const { origin, authorization } = engine.address;
  return { origin, authorization, basePath: engine.view.baseUrl.slice(origin.length) };
}
