import { memberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine, isOwnedBy, MODELS_PATH } from './adapter.ts';
import { idsOf, isOk, modelList } from './probe.ts';

/** vLLM sets `owned_by`; version and metrics need no API key. */
export const vllm: Engine = {
  kind: 'vllm',
  ports: [8000],
  largerWindow: (tokens) => `Start it with --max-model-len ${tokens}.`,
  answersWhileBusy: true,
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
