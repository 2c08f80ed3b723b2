import { listOf, memberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine, MODELS_PATH } from './adapter.ts';
import { type Ask, idsIn, isOk, modelList } from './probe.ts';

/** LM Studio answers 200 to every path it does not know, so only the body counts. */
export const lmStudio: Engine = {
  kind: 'lmstudio',
  ports: [1234],
  apiPath: '',
  async isAt(ask) {
    const greeting = await ask('/lmstudio-greeting');
    if (isOk(greeting) && memberOf(greeting.json, 'lmstudio') === true) return true;
    const native = listOf(memberOf((await ask('/api/v0/models')).json, 'data'));
    return native.some((model) => /^(not-)?loaded$/.test(String(memberOf(model, 'state'))));
  },
  async read(ask) {
    const list = await ask(MODELS_PATH);
    const loaded = await loadedModels(ask);
    return detail(list, modelList(list), { loaded, location: loaded?.[0] ?? null });
  },
};

/** The models in memory, chat models before embedding models; the model list also has unloaded ones. */
async function loadedModels(ask: Ask): Promise<readonly string[] | null> {
  const current = memberOf((await ask('/api/v1/models')).json, 'models');
  if (Array.isArray(current)) {
    return chatFirst(listOf(current)).flatMap((model) =>
      idsIn(memberOf(model, 'loaded_instances'), 'id'),
    );
  }
  // Versions before 0.4.
  const older = memberOf((await ask('/api/v0/models')).json, 'data');
  if (!Array.isArray(older)) return null;
  const loaded = listOf(older).filter((model) => memberOf(model, 'state') === 'loaded');
  return idsIn(chatFirst(loaded), 'id');
}

function chatFirst(models: readonly unknown[]): readonly unknown[] {
  const rank = (model: unknown) =>
    textOf(memberOf(model, 'type'))?.startsWith('embedding') === true ? 1 : 0;
  return models.toSorted((a, b) => rank(a) - rank(b));
}
