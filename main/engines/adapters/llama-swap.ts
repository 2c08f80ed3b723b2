import { listOf, memberOf } from '../../platform/json.ts';
import { detail, type Engine, isOwnedBy, MODELS_PATH } from './adapter.ts';
import { idsIn, isOk } from './probe.ts';

/** llama-swap starts a server for each model that is asked for, most often llama.cpp's. */
export const llamaSwap: Engine = {
  kind: 'llama-swap',
  ports: [8080],
  largerWindow: (tokens) => `Set -c ${tokens} in the cmd of the model.`,
  answersWhileBusy: true,
  isAt: (ask) => isOwnedBy(ask, 'llama-swap'),
  async read(ask) {
    const list = await ask(MODELS_PATH);
    const answer = await ask('/running');
    const running = isOk(answer) ? memberOf(answer.json, 'running') : null;
    // The states of a model's server: stopped, starting, ready, stopping, shutdown (internal/process/process.go).
    const ready = listOf(running).filter((each) => memberOf(each, 'state') === 'ready');
    const loaded = Array.isArray(running) ? idsIn(ready, 'model') : null;
    return detail(list, { loaded });
  },
};
