import { LARGE_WINDOW } from '#shared/models.ts';
import { listOf, memberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine, isOwnedBy, MODELS_PATH } from './adapter.ts';
import { isOk, modelList } from './probe.ts';

/** llama-swap starts a server for each model that is asked for, most often llama.cpp's. */
export const llamaSwap: Engine = {
  kind: 'llama-swap',
  ports: [8080],
  largerWindow: `Set -c ${LARGE_WINDOW} in the cmd of the model.`,
  isAt: (ask) => isOwnedBy(ask, 'llama-swap'),
  async read(ask) {
    const list = await ask(MODELS_PATH);
    const answer = await ask('/running');
    const running = isOk(answer) ? memberOf(answer.json, 'running') : null;
    const loaded = Array.isArray(running) ? readyIn(listOf(running)) : null;
    return detail(list, modelList(list), { loaded });
  },
};

/** The states of a model's server: stopped, starting, ready, stopping, shutdown (internal/process/process.go). */
function readyIn(running: readonly unknown[]): readonly string[] {
  return running
    .filter((each) => memberOf(each, 'state') === 'ready')
    .map((each) => textOf(memberOf(each, 'model')))
    .filter((model) => model !== null);
}
