import { memberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine, MODELS_PATH } from './adapter.ts';
import { idsOf, modelList } from './probe.ts';

/** Jan's server: its list names running sessions with the owner `user`; its API description names Jan. */
export const jan: Engine = {
  kind: 'jan',
  ports: [1337],
  largerWindow: (tokens) => `Set Context Size to ${tokens} in the settings of the model.`,
  answersWhileBusy: true,
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
