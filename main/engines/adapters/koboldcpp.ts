import { LARGE_WINDOW } from '#shared/models.ts';
import { memberOf, numberOf } from '../../platform/json.ts';
import { detail, type Engine, MODELS_PATH } from './adapter.ts';
import { idsOf, modelList } from './probe.ts';

/** KoboldCpp imitates OpenAI and Ollama besides its own API, so it is recognised by its own version route. */
export const koboldCpp: Engine = {
  kind: 'koboldcpp',
  ports: [5001],
  largerWindow: `Start it with --contextsize ${LARGE_WINDOW}.`,
  async isAt(ask) {
    const { json } = await ask('/api/extra/version');
    return memberOf(json, 'result') === 'KoboldCpp';
  },
  async read(ask) {
    const models = modelList(await ask(MODELS_PATH));
    const length = await ask('/api/extra/true_max_context_length');
    const context_length = numberOf(memberOf(length.json, 'value'));
    return detail(await ask('/api/extra/version'), models, {
      said: new Map(idsOf(models).map((id) => [id, { context_length }])),
      loaded: idsOf(models),
    });
  },
};
