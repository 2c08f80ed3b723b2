import { listOf, memberOf } from '../../platform/json.ts';
import { detail, type Engine, MODELS_PATH } from './adapter.ts';
import { type Ask, idsIn, idsOf, isOk, modelList } from './probe.ts';

const OWNERS = ['vllm-mlx', 'omlx'];

/** The servers for Apple's MLX: mlx_lm.server, vllm-mlx and oMLX. */
export const mlx: Engine = {
  kind: 'mlx',
  ports: [8080, 8000],
  largerWindow: () => 'Start it with a larger context, if its server has a limit.',
  answersWhileBusy: false,
  async isAt(ask) {
    const list = await ask(MODELS_PATH);
    const models = modelList(list);
    if (models === null) return false;
    if (models.some(({ ownedBy }) => OWNERS.includes(ownedBy))) return true;
    // mlx_lm.server is Python's own HTTP server and sets no `owned_by`.
    const isUnsigned = models.every(({ ownedBy }) => ownedBy === '');
    if (!isUnsigned || !/^BaseHTTP\/\S+ Python\//.test(list.server)) return false;
    const health = await ask('/health');
    return isOk(health) && memberOf(health.json, 'status') === 'ok';
  },
  async read(ask) {
    const list = await ask(MODELS_PATH);
    const loaded = await loadedModels(ask);
    const location = loaded?.[0] ?? modelList(list)?.[0]?.id ?? null;
    return detail(list, { health: await ask('/health'), loaded, location });
  },
};

/** vllm-mlx lists what it has loaded, oMLX reports it, and mlx_lm.server lists everything ever downloaded. */
async function loadedModels(ask: Ask): Promise<readonly string[] | null> {
  const models = modelList(await ask(MODELS_PATH)) ?? [];
  if (models.some(({ ownedBy }) => ownedBy === 'vllm-mlx')) return idsOf(models);
  if (!models.some(({ ownedBy }) => ownedBy === 'omlx')) return null;
  const status = listOf(memberOf((await ask('/v1/models/status')).json, 'models'));
  return idsIn(
    status.filter((model) => memberOf(model, 'loaded') === true),
    'id',
  );
}
