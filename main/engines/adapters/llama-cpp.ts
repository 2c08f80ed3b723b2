import type { ModelFacts, ModelUse } from '#shared/models.ts';
import { booleanOf, listOf, memberOf, numberOf, textOf } from '../../platform/json.ts';
import { mostTokens } from '../models.ts';
import { detail, type Engine, isOwnedBy, MODELS_PATH } from './adapter.ts';
import type { EngineMetrics } from './engine-view.ts';
import { type Ask, type EngineModel, healthOf, idsOf, modelList } from './probe.ts';

/** llama.cpp's server names itself in each response, even while loading. `/slots` is not read: it shows prompts. */
export const llamaCpp: Engine = {
  kind: 'llama.cpp',
  // 9931 is the default of build 11669, and 8080 that of earlier ones (ggml-org/llama.cpp#26508).
  ports: [9931, 8080],
  largerWindow: (tokens) => `Start it with -c ${tokens}, times its --parallel.`,
  answersWhileBusy: true,
  async isAt(ask) {
    const { server } = await ask(MODELS_PATH);
    return server === 'llama.cpp' || (await isOwnedBy(ask, 'llamacpp'));
  },
  async read(ask) {
    const list = await ask(MODELS_PATH);
    const models = modelList(list);
    const running = (models ?? []).filter(isLoaded);
    const loaded = idsOf(running);
    const query = queryFor(running[0], models ?? []);
    const props = await ask(`/props${query}`);
    const location = textOf(memberOf(props.json, 'model_path'));
    const metrics = metricsIn((await ask(`/metrics${query}`)).text);
    const said = new Map(
      await Promise.all((models ?? []).map((model) => saidOf(model, models ?? [], ask))),
    );
    // Even with `--api-key`, health and models need no key.
    const health = healthOf(props).status === 'unauthorized' ? props : await ask('/health');
    return detail(list, { health, loaded, location, said, metrics });
  },
};

/** Reads a Prometheus text; null if metrics are switched off (`--metrics`). */
function metricsIn(text: string): EngineMetrics | null {
  const sample = (name: string) =>
    numberOf(new RegExp(`^llamacpp:${name} (\\S+)`, 'm').exec(text)?.[1]);
  const running = sample('requests_processing');
  const generatedTokens = sample('tokens_predicted_total');
  return running === null && generatedTokens === null ? null : { running, generatedTokens };
}

/** A router reports the state of each model; a server for one model reports none, because it is loaded. */
function isLoaded({ entry }: EngineModel): boolean {
  return (textOf(memberOf(entry, 'status', 'value')) ?? 'loaded') === 'loaded';
}

/**
 * A router must be told the model, and would load one that is not loaded: one that has just been unloaded, too, which
 * it lists as loaded for a moment longer.
 */
function queryFor(loaded: EngineModel | undefined, models: readonly EngineModel[]): string {
  const isRouter = models.some(({ entry }) => memberOf(entry, 'status', 'value') !== undefined);
  if (!isRouter || loaded === undefined) return '';
  return `?model=${encodeURIComponent(loaded.id)}&autoload=false`;
}

/**
 * What a server says of a model: in `/props` once it is loaded, where `n_ctx` is that of one slot
 * (ggml-org/llama.cpp, tools/server/README.md), and before that by what the router will start it with.
 */
async function saidOf(
  model: EngineModel,
  models: readonly EngineModel[],
  ask: Ask,
): Promise<readonly [string, Partial<ModelFacts>]> {
  const { id, entry } = model;
  const args = listOf(memberOf(entry, 'status', 'args')).map(String);
  const modalities = memberOf(entry, 'architecture', 'input_modalities');
  const listed = Array.isArray(modalities) ? modalities.includes('image') : null;
  const props = isLoaded(model) ? (await ask(`/props${queryFor(model, models)}`)).json : null;
  const facts = {
    use: useOf(args),
    vision: booleanOf(memberOf(props, 'modalities', 'vision')) ?? listed,
    tools: booleanOf(memberOf(props, 'chat_template_caps', 'supports_tools')),
    size_bytes: numberOf(memberOf(entry, 'meta', 'size')),
    ...mostTokens(memberOf(entry, 'meta', 'n_ctx_train')),
    context_length:
      numberOf(memberOf(props, 'default_generation_settings', 'n_ctx')) ?? sizeIn(args),
  };
  return [id, facts];
}

function useOf(args: readonly string[]): ModelUse | null {
  if (args.some((arg) => /^--rerank(ing)?$/.test(arg))) return 'rerank';
  return args.some((arg) => /^--embeddings?$/.test(arg)) ? 'embedding' : null;
}

/** The size that a router starts a model with: slots share it, so no prompt can have more. 0 is the trained length. */
function sizeIn(args: readonly string[]): number | null {
  const at = args.findIndex((arg) => arg === '--ctx-size' || arg === '-c');
  return at === -1 ? null : numberOf(args[at + 1]);
}
