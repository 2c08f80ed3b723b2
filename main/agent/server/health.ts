import type { AgentRecord } from '#shared/provider.ts';
import { signHealth } from '../../platform/agent-identity.ts';
import type { EngineView } from '../engines/adapters/engine-view.ts';
import type { AgentIdentity } from '../storage/identity.ts';

export interface HealthFacts {
  readonly identity: AgentIdentity;
  readonly engine: EngineView | null;
  readonly record: AgentRecord;
}

/** The proof of the agent's identity: no more than a gateway needs before it sends its token. */
export function proofBody(
  facts: HealthFacts,
  nonce: string,
): Readonly<Record<string, unknown>> | null {
  const body = healthBody(facts, nonce);
  if (body === null) return null;
  const { status, id, signature, model } = body;
  // The name of a loaded model is not disclosed.
  return { status, id, signature, ...(model === null ? { model } : {}) };
}

/** Signs `nonce`, which is null if the request has none. Returns null for a malformed nonce. */
export function healthBody(
  { identity, engine, record }: HealthFacts,
  nonce: string | null,
): Readonly<Record<string, unknown>> | null {
  const { id, privateKey } = identity;
  const signature = nonce === null ? null : signHealth(privateKey, nonce, id);
  if (nonce !== null && signature === null) return null;
  return {
    // The agent's own status: `ok` whenever it answers, unless a model is still loading.
    status: record.engine_health.status === 'loading' ? 'loading' : 'ok',
    engine_health: record.engine_health,
    model: loadedModel(engine, record),
    gpu_count: record.gpu.count,
    agent_version: record.agent_version,
    uptime_s: record.uptime_s,
    id,
    ...(signature === null ? {} : { signature }),
  };
}

/** Null if none is loaded, because the registry's test inference would otherwise load one. */
function loadedModel(engine: EngineView | null, { current_model }: AgentRecord): string | null {
  if (engine === null || engine.loaded?.length === 0) return null;
  return current_model;
}
