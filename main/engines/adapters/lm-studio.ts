import type { ModelFacts, ModelUse } from '#shared/models.ts';
import { booleanOf, listOf, memberOf, numberOf, textOf } from '../../platform/json.ts';
import { mostTokens } from '../models.ts';
import { detail, type Engine, MODELS_PATH } from './adapter.ts';
import type { Ask } from './probe.ts';

/** LM Studio answers 200 to every path it does not know, so only the body counts. */
export const lmStudio: Engine = {
  kind: 'lmstudio',
  ports: [1234],
  largerWindow: (tokens) => `Load the model with lms load --context-length ${tokens}.`,
  answersWhileBusy: true,
  async isAt(ask) {
    return memberOf((await ask('/lmstudio-greeting')).json, 'lmstudio') === true;
  },
  async read(ask) {
    const list = await ask(MODELS_PATH);
    const native = await nativeModels(ask);
    const loaded = native?.filter((each) => each.loaded === true).map(({ id }) => id) ?? null;
    const said = new Map((native ?? []).map((model) => [model.id, model]));
    return detail(list, { loaded, said });
  },
};

type NativeModel = Partial<ModelFacts> & Pick<ModelFacts, 'id' | 'use'>;

/** The downloaded models and their loaded instances, which have names of their own; null before version 0.4. */
async function nativeModels(ask: Ask): Promise<readonly NativeModel[] | null> {
  const models = memberOf((await ask('/api/v1/models')).json, 'models');
  return Array.isArray(models) ? listOf(models).flatMap(withInstances) : null;
}

/** Fields as in lmstudio.ai/docs/developer/rest/list. */
function withInstances(model: unknown): readonly NativeModel[] {
  const key = textOf(memberOf(model, 'key'));
  if (key === null) return [];
  const common = {
    use: useOf(memberOf(model, 'type')),
    vision: booleanOf(memberOf(model, 'capabilities', 'vision')),
    tools: booleanOf(memberOf(model, 'capabilities', 'trained_for_tool_use')),
    size_bytes: numberOf(memberOf(model, 'size_bytes')),
    ...mostTokens(memberOf(model, 'max_context_length')),
  };
  const instances = listOf(memberOf(model, 'loaded_instances')).flatMap((instance) => {
    const id = textOf(memberOf(instance, 'id'));
    const length = numberOf(memberOf(instance, 'config', 'context_length'));
    return id === null ? [] : [{ ...common, id, loaded: true, context_length: length }];
  });
  const isNamed = instances.some(({ id }) => id === key);
  return isNamed ? instances : [{ ...common, id: key, loaded: false }, ...instances];
}

function useOf(type: unknown): ModelUse | null {
  const name = textOf(type);
  if (name === 'llm' || name === 'vlm') return 'chat';
  return name?.startsWith('embedding') === true ? 'embedding' : null;
}
