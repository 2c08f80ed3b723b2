import { memberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine, isOwnedBy, metricsOf, MODELS_PATH } from './adapter.ts';
import { idsOf, isOk, modelList } from './probe.ts';

/** vLLM sets `owned_by`; version and metrics need no API key. */
export const vllm: Engine = {
  kind: 'vllm',
  ports: [8000],
  apiPath: '',
  async isAt(ask) {
    if (await isOwnedBy(ask, 'vllm')) return true;
    const version = await ask('/version');
    if (!isOk(version) || textOf(memberOf(version.json, 'version')) === null) return false;
    return 'metrics' in (await metricsOf(ask, 'vllm'));
  },
  async read(ask) {
    const models = modelList(await ask(MODELS_PATH));
    const location = models?.[0]?.root ?? null;
    const metrics = await metricsOf(ask, 'vllm');
    // A vLLM server keeps its model in memory as long as it runs.
    return detail(await ask('/health'), models, { loaded: idsOf(models), location, ...metrics });
  },
};
