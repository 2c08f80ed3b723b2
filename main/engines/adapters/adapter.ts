import type { EngineKind } from '#shared/engines.ts';
import type { ModelFacts } from '#shared/models.ts';
import { memberOf, numberOf } from '../../platform/json.ts';
import { currentModel, modelFacts } from '../models.ts';
import type { EngineDetail } from './engine-view.ts';
import { type Ask, type EngineAnswer, healthOf, idsOf, isOk, modelList } from './probe.ts';

/** How one kind of engine is recognised and read. */
export interface Engine {
  readonly kind: Exclude<EngineKind, 'other'>;
  readonly ports: readonly number[];
  /** Path before its `/v1`; left out of those that have none. */
  readonly apiPath?: string;
  /** What gives it a window of so many tokens, as a sentence. */
  readonly largerWindow: (tokens: number) => string;
  /** Whether it answers other requests while it computes. If it doesn't, its silence says little. */
  readonly answersWhileBusy: boolean;
  /** Recognises the engine by its answers, never by its port. */
  isAt(ask: Ask): Promise<boolean>;
  read(ask: Ask): Promise<EngineDetail>;
}

export const MODELS_PATH = '/v1/models';

/** Whether the model list has an entry with this `owned_by`. */
export async function isOwnedBy(ask: Ask, owner: string): Promise<boolean> {
  const models = modelList(await ask(MODELS_PATH)) ?? [];
  return models.some(({ ownedBy }) => ownedBy === owner);
}

/** What an engine said of its models, by id. */
export type ModelFactsById = ReadonlyMap<string, Partial<ModelFacts>>;

interface DetailOverrides extends Partial<Omit<EngineDetail, 'facts' | 'health'>> {
  /** What tells how the engine is, unless its list does. */
  readonly health?: EngineAnswer;
  readonly said?: ModelFactsById;
}

/**
 * The details that most engines report; `given` overrides them, and `said` adds to what is known of models. An engine
 * whose load ends between two answers has refused its `list`: it counts as it was then, not as one without models.
 */
export function detail(
  list: EngineAnswer,
  { health = list, said = new Map(), ...given }: DetailOverrides = {},
): EngineDetail {
  const models = modelList(list);
  const loaded = given.loaded ?? null;
  const ids = [...new Set([...(given.models ?? idsOf(models)), ...(loaded ?? [])])];
  const entries = new Map((models ?? []).map(({ id, entry }) => [id, entry]));
  const facts = ids.map((id) =>
    modelFacts(id, {
      loaded: loaded?.includes(id) ?? null,
      // vLLM and SGLang list the length that they serve.
      context_length: numberOf(memberOf(entries.get(id), 'max_model_len')),
      ...said.get(id),
    }),
  );
  return {
    health: healthOf(isOk(list) ? health : list),
    models: idsOf(models),
    loaded,
    facts,
    location: currentModel(facts, loaded),
    metrics: null,
    ...given,
  };
}
