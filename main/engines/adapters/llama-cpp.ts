import { memberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine, isOwnedBy, metricsOf, MODELS_PATH } from './adapter.ts';
import { type EngineModel, healthOf, idsOf, modelList } from './probe.ts';

/** llama.cpp's server names itself in each response, even while loading. `/slots` is not read: it shows prompts. */
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
    const loaded = idsOf((models ?? []).filter((model) => stateOf(model) === 'loaded'));
    const query = routerQuery(models ?? [], loaded);
    const props = await ask(`/props${query}`);
    const location = textOf(memberOf(props.json, 'model_path'));
    const metrics = await metricsOf(ask, 'llama.cpp', query);
    // Even with `--api-key`, health and models need no key.
    const health = healthOf(props).status === 'unauthorized' ? props : await ask('/health');
    return detail(health, models, { loaded, location, ...metrics });
  },
};

/** A router reports the state of each model; a server for one model reports none, because it is loaded. */
function stateOf({ entry }: EngineModel): string {
  return textOf(memberOf(entry, 'status', 'value')) ?? 'loaded';
}

/**
 * A router must be told the model, and would load one that is not loaded: one that has just been unloaded, too, which
 * it lists as loaded for a moment longer.
 */
function routerQuery(models: readonly EngineModel[], [model]: readonly string[]): string {
  const isRouter = models.some(({ entry }) => memberOf(entry, 'status', 'value') !== undefined);
  return isRouter && model !== undefined
    ? `?model=${encodeURIComponent(model)}&autoload=false`
    : '';
}
