import type { AgentRecord } from '#shared/provider.ts';
import { signHealth } from '../../platform/agent-identity.ts';
import type { EngineView } from '../engines/adapters/engine-view.ts';
import type { AgentIdentity } from '../storage/identity.ts';

export interface HealthFacts {
  readonly identity: AgentIdentity;
  readonly engine: EngineView | null;
  readonly record: AgentRecord;
}

/** `nonce` is null where the request has none. Returns null for a malformed nonce. */
export function healthBody(
  { identity, engine, record }: HealthFacts,
  nonce: string | null,
): Readonly<Record<string, unknown>> | null {
  const { id, privateKey } = identity;
  const signature = nonce === null ? null : signHealth(privateKey, nonce, id);
  if (nonce !== null && signature === null) return null;
  return {
    // The agent is well as long as it answers; only a model that is still loading makes it wait.
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

/** Null where none is loaded: a test inference would load one that nobody asked for. */
function loadedModel(engine: EngineView | null, { current_model }: AgentRecord): string | null {
  if (engine === null || engine.loaded?.length === 0) return null;
  return current_model;
}
