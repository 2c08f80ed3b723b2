import { LARGE_WINDOW } from '#shared/models.ts';
import { memberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine, isOwnedBy, MODELS_PATH } from './adapter.ts';
import { type Ask, idsOf, isOk, modelList } from './probe.ts';

/** vLLM sets `owned_by`; version and metrics need no API key. */
export const vllm: Engine = {
  kind: 'vllm',
  ports: [8000],
  largerWindow: `Start it with --max-model-len ${LARGE_WINDOW}.`,
  async isAt(ask) {
    if (await isOwnedBy(ask, 'vllm')) return true;
    const version = await ask('/version');
    if (!isOk(version) || textOf(memberOf(version.json, 'version')) === null) return false;
    return /^vllm:/m.test((await ask('/metrics')).text);
  },
  async read(ask) {
    const models = modelList(await ask(MODELS_PATH));
    const location = models?.[0]?.root ?? null;
    // A vLLM server keeps its model in memory as long as it runs, unless it has been put to sleep.
    const loaded = (await isAsleep(ask)) ? [] : idsOf(models);
    return detail(await ask('/health'), models, { loaded, location });
  },
};

/** The route exists where a request can put it to sleep (VLLM_SERVER_DEV_MODE). */
async function isAsleep(ask: Ask): Promise<boolean> {
  return memberOf((await ask('/is_sleeping')).json, 'is_sleeping') === true;
}
