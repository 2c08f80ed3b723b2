import { memberOf, textOf } from '../../../platform/json.ts';
import { detail, type Engine, isOwnedBy, metricsOf, MODELS_PATH } from './adapter.ts';
import { idsOf, type ListedModel, modelList } from './models.ts';

/**
 * llama.cpp's server names itself in each response, also while it loads. `/slots` is not read: it shows
 * prompts.
 */
export const llamaCpp: Engine = {
  kind: 'llama.cpp',
  ports: [8080],
  apiPath: '',
  async isAt(ask) {
    const { server } = await ask(MODELS_PATH);
    return server === 'llama.cpp' || (await isOwnedBy(ask, 'llamacpp'));
  },
  async read(ask) {
    const models = modelList(await ask(MODELS_PATH));
    const location = textOf(memberOf((await ask('/props')).json, 'model_path'));
    const metrics = await metricsOf(ask, 'llama.cpp');
    return detail(await ask('/health'), models, { loaded: loadedOf(models), location, ...metrics });
  },
};

/** A router reports the state of each model; a server for one model reports none, because it is loaded. */
function loadedOf(models: readonly ListedModel[] | null): readonly string[] {
  const state = (entry: unknown) => textOf(memberOf(entry, 'status', 'value')) ?? 'loaded';
  return idsOf((models ?? []).filter(({ entry }) => state(entry) === 'loaded'));
}
