import { memberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine, MODELS_PATH } from './adapter.ts';
import { type Ask, idsOf, modelList } from './probe.ts';

/** Jan's server: its list names running sessions with the owner `user`; its API description names Jan. */
export const jan: Engine = {
  kind: 'jan',
  ports: [1337],
  apiPath: '',
  isAt: isJan,
  async read(ask) {
    const list = await ask(MODELS_PATH);
    const models = modelList(list);
    return detail(list, models, { loaded: idsOf(models), location: models?.[0]?.id ?? null });
  },
};

/** The description needs no key; the list does if one is set. */
async function isJan(ask: Ask): Promise<boolean> {
  const title = textOf(memberOf((await ask('/openapi.json')).json, 'info', 'title'));
  return title !== null && /\bJan\b/.test(title);
}
