import type { EngineDetail, EngineKind } from './engine-view.ts';
import { type MeteredKind, type MetricsReport, parseMetrics } from './metrics.ts';
import { idsOf, type ListedModel, modelList } from './models.ts';
import { type Ask, type EngineAnswer, healthOf, isOk } from './probe.ts';

/** How one engine is known and read. */
export interface Engine {
  readonly kind: Exclude<EngineKind, 'other'>;
  /** Ports that it listens on by itself. */
  readonly ports: readonly number[];
  /** What comes before `/v1` on it. */
  readonly apiPath: '' | '/engines';
  /** Whether this is it, by what it answers and never by its port. */
  isAt(ask: Ask): Promise<boolean>;
  read(ask: Ask): Promise<EngineDetail>;
}

/** The OpenAI model list of an engine. */
export const MODELS_PATH = '/v1/models';

/** Whether a model list was written by an engine that signs its entries so. */
export async function isOwnedBy(ask: Ask, owner: string): Promise<boolean> {
  const models = modelList(await ask(MODELS_PATH));
  return models !== null && models.some(({ ownedBy }) => ownedBy === owner);
}

/** An engine's detail, from what most engines answer; `given` says what is different. */
export function detail(
  health: EngineAnswer,
  models: readonly ListedModel[] | null,
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

/** An engine's metrics, where it has them switched on. */
export async function metricsOf(
  ask: Ask,
  kind: MeteredKind,
): Promise<MetricsReport | Record<string, never>> {
  const answer = await ask('/metrics');
  return (isOk(answer) ? parseMetrics(kind, answer.text) : null) ?? {};
}
