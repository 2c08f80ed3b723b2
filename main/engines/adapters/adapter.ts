import type { EngineDetail, EngineKind } from './engine-view.ts';
import { type MeteredKind, type MetricsReport, parseMetrics } from './metrics.ts';
import {
  type Ask,
  type EngineAnswer,
  type EngineModel,
  healthOf,
  idsOf,
  isOk,
  modelList,
} from './probe.ts';

/** How one kind of engine is recognised and read. */
export interface Engine {
  readonly kind: Exclude<EngineKind, 'other'>;
  /** Its default ports. */
  readonly ports: readonly number[];
  /** Path before its `/v1`. */
  readonly apiPath: '' | '/engines';
  /** Recognises the engine by its answers, never by its port. */
  isAt(ask: Ask): Promise<boolean>;
  read(ask: Ask): Promise<EngineDetail>;
}

export const MODELS_PATH = '/v1/models';

/** Whether the model list has an entry with this `owned_by`. */
export async function isOwnedBy(ask: Ask, owner: string): Promise<boolean> {
  const models = modelList(await ask(MODELS_PATH));
  return models !== null && models.some(({ ownedBy }) => ownedBy === owner);
}

/** The details that most engines report; `given` overrides them. */
export function detail(
  health: EngineAnswer,
  models: readonly EngineModel[] | null,
  given: Partial<EngineDetail> = {},
): EngineDetail {
  return {
    health: healthOf(health),
    models: idsOf(models),
    loaded: null,
    location: null,
    metrics: null,
    decode: { kind: 'none' },
    ...given,
  };
}

/** Empty if metrics are switched off. */
export async function metricsOf(
  ask: Ask,
  kind: MeteredKind,
  query = '',
): Promise<MetricsReport | Record<string, never>> {
  const answer = await ask(`/metrics${query}`);
  return (isOk(answer) ? parseMetrics(kind, answer.text) : null) ?? {};
}
