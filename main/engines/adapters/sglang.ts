import { LARGE_WINDOW } from '#shared/models.ts';
import { memberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine, isOwnedBy, MODELS_PATH } from './adapter.ts';
import { idsOf, modelList } from './probe.ts';

const INFO_PATH = '/get_model_info';

/** SGLang lists its models before it can serve them, so readiness comes from `/health`. */
export const sglang: Engine = {
  kind: 'sglang',
  ports: [30000],
  largerWindow: `Start it with --context-length ${LARGE_WINDOW}.`,
  async isAt(ask) {
    if (await isOwnedBy(ask, 'sglang')) return true;
    const { json } = await ask(INFO_PATH);
    const path = textOf(memberOf(json, 'model_path'));
    return path !== null && typeof memberOf(json, 'is_generation') === 'boolean';
  },
  async read(ask) {
    const models = modelList(await ask(MODELS_PATH));
    const location =
      textOf(memberOf((await ask(INFO_PATH)).json, 'model_path')) ?? models?.[0]?.root ?? null;
    return detail(await ask('/health'), models, { loaded: idsOf(models), location });
  },
};
