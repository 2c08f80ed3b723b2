import type { AgentModel } from '#shared/agent.ts';
import { controlOf } from '../engines/model-control.ts';
import type { EngineView } from '../../engines/adapters/engine-view.ts';

/** The models of this machine's engines, loaded ones first. */
export function agentModels(
  engines: readonly EngineView[],
  since: (engine: string, model: string) => number | null,
): readonly AgentModel[] {
  const models = engines.flatMap(({ kind, baseUrl, facts }) =>
    facts.map((fact): AgentModel => ({
      id: fact.id,
      engine: kind,
      baseUrl,
      use: fact.use,
      loaded: fact.loaded,
      loadedAt: since(baseUrl, fact.id),
      sizeBytes: fact.size_bytes,
      vramBytes: fact.vram_bytes ?? null,
      contextLength: fact.context_length,
      canUnload: controlOf(kind) !== null,
    })),
  );
  return models.toSorted((a, b) => Number(b.loaded ?? false) - Number(a.loaded ?? false));
}
