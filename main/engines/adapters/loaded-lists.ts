import { memberOf, numberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine, isOwnedBy, MODELS_PATH } from './adapter.ts';
import { idsOf, isOk, modelList } from './probe.ts';

/* The engines that list what they have in memory, and nothing else. */

/** vLLM sets `owned_by`; version and metrics need no API key. */
export const vllm: Engine = {
  kind: 'vllm',
  ports: [8000],
  largerWindow: (tokens) => `Start it with --max-model-len ${tokens}.`,
  async isAt(ask) {
    if (await isOwnedBy(ask, 'vllm')) return true;
    const version = await ask('/version');
    if (!isOk(version) || textOf(memberOf(version.json, 'version')) === null) return false;
    return /^vllm:/m.test((await ask('/metrics')).text);
  },
  async read(ask) {
    const list = await ask(MODELS_PATH);
    const models = modelList(list);
    // The route exists where a request can put it to sleep (VLLM_SERVER_DEV_MODE).
    const isAsleep = memberOf((await ask('/is_sleeping')).json, 'is_sleeping') === true;
    const loaded = isAsleep ? [] : idsOf(models);
    const location = models?.[0]?.root ?? null;
    return detail(list, { health: await ask('/health'), loaded, location });
  },
};

const SGLANG_INFO = '/get_model_info';

/** SGLang lists its models before it can serve them, so readiness comes from `/health`. */
export const sglang: Engine = {
  kind: 'sglang',
  ports: [30000],
  largerWindow: (tokens) => `Start it with --context-length ${tokens}.`,
  async isAt(ask) {
    if (await isOwnedBy(ask, 'sglang')) return true;
    const { json } = await ask(SGLANG_INFO);
    const path = textOf(memberOf(json, 'model_path'));
    return path !== null && typeof memberOf(json, 'is_generation') === 'boolean';
  },
  async read(ask) {
    const list = await ask(MODELS_PATH);
    const models = modelList(list);
    const path = textOf(memberOf((await ask(SGLANG_INFO)).json, 'model_path'));
    const location = path ?? models?.[0]?.root ?? null;
    return detail(list, { health: await ask('/health'), loaded: idsOf(models), location });
  },
};

const KOBOLD_VERSION = '/api/extra/version';

/** KoboldCpp imitates OpenAI and Ollama besides its own API, so it is recognised by its own version route. */
export const koboldCpp: Engine = {
  kind: 'koboldcpp',
  ports: [5001],
  largerWindow: (tokens) => `Start it with --contextsize ${tokens}.`,
  async isAt(ask) {
    return memberOf((await ask(KOBOLD_VERSION)).json, 'result') === 'KoboldCpp';
  },
  async read(ask) {
    const list = await ask(MODELS_PATH);
    const loaded = idsOf(modelList(list));
    const length = await ask('/api/extra/true_max_context_length');
    const context_length = numberOf(memberOf(length.json, 'value'));
    const said = new Map(loaded.map((id) => [id, { context_length }]));
    return detail(list, { loaded, said });
  },
};

/** Hugging Face's Text Generation Inference, recognised by its `/info`, which its sibling for embeddings has too. */
export const tgi: Engine = {
  kind: 'tgi',
  ports: [3000, 8080],
  largerWindow: (tokens) =>
    `Start it with --max-total-tokens ${tokens} and a --max-input-tokens below it.`,
  async isAt(ask) {
    const { json } = await ask('/info');
    return textOf(memberOf(json, 'router'))?.startsWith('text-generation-router') === true;
  },
  async read(ask) {
    const info = await ask('/info');
    const { json } = info;
    const id = textOf(memberOf(json, 'model_id'));
    const models = id === null ? [] : [id];
    const context_length = numberOf(memberOf(json, 'max_total_tokens'));
    const said = new Map(models.map((model) => [model, { context_length }]));
    return detail(info, { health: await ask('/health'), models, loaded: models, said });
  },
};

/** Jan's server: its list names running sessions with the owner `user`; its API description names Jan. */
export const jan: Engine = {
  kind: 'jan',
  ports: [1337],
  largerWindow: (tokens) => `Set Context Size to ${tokens} in the settings of the model.`,
  async isAt(ask) {
    // The description needs no key; the list does if one is set.
    const title = textOf(memberOf((await ask('/openapi.json')).json, 'info', 'title'));
    return title !== null && /\bJan\b/.test(title);
  },
  async read(ask) {
    const list = await ask(MODELS_PATH);
    return detail(list, { loaded: idsOf(modelList(list)) });
  },
};
