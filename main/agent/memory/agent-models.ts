import type { AgentModel } from '#shared/agent.ts';
import { controlOf } from '../engines/model-control.ts';
import type { EngineView } from '../../engines/adapters/engine-view.ts';

/** The models of this machine's engines, loaded ones first. */
export function agentModels(
  engines: readonly EngineView[],
  since: (engine: string, model: string) => number | null,
): readonly AgentModel[] {
  const models = engines.flatMap((engine) => {
    const loaded = engine.loaded ?? [];
    const others = engine.models.filter((id) => !loaded.includes(id));
    return [...loaded, ...others].map((id) => modelOf(engine, id, since));
  });
  return models.toSorted((a, b) => Number(b.loaded ?? false) - Number(a.loaded ?? false));
}

function modelOf(
  { kind, baseUrl, loaded }: EngineView,
  id: string,
  since: (engine: string, model: string) => number | null,
): AgentModel {
  return {
    id,
    engine: kind,
    baseUrl,
    loaded: loaded === null ? null : loaded.includes(id),
    loadedAt: since(baseUrl, id),
    sizeBytes: null,
    vramBytes: null,
    contextLength: null,
    canUnload: controlOf(kind) !== null,
  };
}
