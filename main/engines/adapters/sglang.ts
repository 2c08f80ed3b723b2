import { memberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine, isOwnedBy, MODELS_PATH } from './adapter.ts';
import { idsOf, modelList } from './probe.ts';

const SGLANG_INFO = '/get_model_info';

/** SGLang lists its models before it can serve them, so readiness comes from `/health`. */
export const sglang: Engine = {
  kind: 'sglang',
  ports: [30000],
  largerWindow: (tokens) => `Start it with --context-length ${tokens}.`,
  answersWhileBusy: true,
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
