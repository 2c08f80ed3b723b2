import { memberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine } from './adapter.ts';
import { idsIn } from './probe.ts';

/** Ollama is recognised by its greeting and its version. Others imitate its API, but not both. */
export const ollama: Engine = {
  kind: 'ollama',
  ports: [11434],
  apiPath: '',
  async isAt(ask) {
    if (!(await ask('/')).text.startsWith('Ollama is running')) return false;
    return textOf(memberOf((await ask('/api/version')).json, 'version')) !== null;
  },
  async read(ask) {
    const tags = await ask('/api/tags');
    const models = idsIn(memberOf(tags.json, 'models'), 'name');
    const loaded = idsIn(memberOf((await ask('/api/ps')).json, 'models'), 'name');
    return detail(tags, null, { models, loaded, location: loaded[0] ?? null });
  },
};
