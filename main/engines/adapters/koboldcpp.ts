import { memberOf, numberOf } from '../../platform/json.ts';
import { detail, type Engine, MODELS_PATH } from './adapter.ts';
import { idsOf, modelList } from './probe.ts';

const KOBOLD_VERSION = '/api/extra/version';

/** KoboldCpp imitates OpenAI and Ollama besides its own API, so it is recognised by its own version route. */
export const koboldCpp: Engine = {
  kind: 'koboldcpp',
  ports: [5001],
  largerWindow: (tokens) => `Start it with --contextsize ${tokens}.`,
  answersWhileBusy: false,
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
