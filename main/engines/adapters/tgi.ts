import { memberOf, numberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine, metricsOf } from './adapter.ts';
import type { Ask } from './probe.ts';

/** Hugging Face's Text Generation Inference, recognised by its `/info`, which its sibling for embeddings has too. */
export const tgi: Engine = {
  kind: 'tgi',
  ports: [3000, 8080],
  apiPath: '',
  async isAt(ask) {
    const { json } = await ask('/info');
    if (textOf(memberOf(json, 'model_id')) === null) return false;
    const router = textOf(memberOf(json, 'router'));
    // Versions before 2.0 did not name their router.
    return router === null
      ? typeof memberOf(json, 'max_best_of') === 'number'
      : router.startsWith('text-generation-router');
  },
  async read(ask) {
    const id = await modelId(ask);
    const models = id === null ? [] : [id];
    const metrics = await metricsOf(ask, 'tgi');
    const context_length = numberOf(memberOf((await ask('/info')).json, 'max_total_tokens'));
    const said = new Map(models.map((model) => [model, { context_length }]));
    return detail(await ask('/health'), null, {
      models,
      loaded: models,
      location: id,
      said,
      ...metrics,
    });
  },
};

async function modelId(ask: Ask): Promise<string | null> {
  return textOf(memberOf((await ask('/info')).json, 'model_id'));
}
