import { memberOf, numberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine } from './adapter.ts';

/** Hugging Face's Text Generation Inference, recognised by its `/info`, which its sibling for embeddings has too. */
export const tgi: Engine = {
  kind: 'tgi',
  ports: [3000, 8080],
  largerWindow: (tokens) =>
    `Start it with --max-total-tokens ${tokens} and a --max-input-tokens below it.`,
  answersWhileBusy: true,
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
