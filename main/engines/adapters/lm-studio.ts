import { LARGE_WINDOW, type ModelFacts, type ModelUse } from '#shared/models.ts';
import { booleanOf, listOf, memberOf, numberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine, MODELS_PATH } from './adapter.ts';
import { type Ask, isOk, modelList } from './probe.ts';

/** LM Studio answers 200 to every path it does not know, so only the body counts. */
export const lmStudio: Engine = {
  kind: 'lmstudio',
  ports: [1234],
  largerWindow: `Load the model with lms load --context-length ${LARGE_WINDOW}.`,
  async isAt(ask) {
    const greeting = await ask('/lmstudio-greeting');
    if (isOk(greeting) && memberOf(greeting.json, 'lmstudio') === true) return true;
    const native = listOf(memberOf((await ask('/api/v0/models')).json, 'data'));
    return native.some((model) => /^(not-)?loaded$/.test(String(memberOf(model, 'state'))));
  },
  async read(ask) {
    const list = await ask(MODELS_PATH);
    const native = (await nativeModels(ask))?.slice(0, MAX_NATIVE) ?? null;
    const loaded =
      native === null ? null : chatFirst(native).filter((each) => each.loaded === true);
    const ids = loaded?.map(({ id }) => id) ?? null;
    const said = new Map((native ?? []).map((model) => [model.id, model]));
    return detail(list, modelList(list), { loaded: ids, said });
  },
};

type NativeModel = Partial<ModelFacts> & Pick<ModelFacts, 'id' | 'use'>;

const MAX_NATIVE = 512;

/** The downloaded models and their loaded instances, which have names of their own. */
async function nativeModels(ask: Ask): Promise<readonly NativeModel[] | null> {
  const current = memberOf((await ask('/api/v1/models')).json, 'models');
  if (Array.isArray(current)) return listOf(current).flatMap(withInstances);
  // Versions before 0.4.
  const older = memberOf((await ask('/api/v0/models')).json, 'data');
  return Array.isArray(older) ? listOf(older).flatMap(olderModel) : null;
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
  };
  const instances = listOf(memberOf(model, 'loaded_instances')).flatMap((instance) => {
    const id = textOf(memberOf(instance, 'id'));
    const length = numberOf(memberOf(instance, 'config', 'context_length'));
    return id === null ? [] : [{ ...common, id, loaded: true, context_length: length }];
  });
  const isNamed = instances.some(({ id }) => id === key);
  return isNamed ? instances : [{ ...common, id: key, loaded: false }, ...instances];
}

/** Fields as in lmstudio.ai/docs/developer/rest/endpoints; only `loaded_context_length` is what is served. */
function olderModel(model: unknown): readonly NativeModel[] {
  const id = textOf(memberOf(model, 'id'));
  if (id === null) return [];
  const type = memberOf(model, 'type');
  const capabilities = memberOf(model, 'capabilities');
  return [
    {
      id,
      use: useOf(type),
      loaded: memberOf(model, 'state') === 'loaded',
      vision: type === 'vlm' ? true : type === 'llm' ? false : null,
      tools: Array.isArray(capabilities) ? capabilities.includes('tool_use') : null,
      context_length: numberOf(memberOf(model, 'loaded_context_length')),
    },
  ];
}

function useOf(type: unknown): ModelUse | null {
  const name = textOf(type);
  if (name === 'llm' || name === 'vlm') return 'chat';
  return name?.startsWith('embedding') === true ? 'embedding' : null;
}

function chatFirst(models: readonly NativeModel[]): readonly NativeModel[] {
  const rank = ({ use }: NativeModel) => (use === 'embedding' ? 1 : 0);
  return models.toSorted((a, b) => rank(a) - rank(b));
}
