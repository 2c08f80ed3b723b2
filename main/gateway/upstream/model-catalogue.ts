import type { Config } from '../../config/schema.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import { type ListedModel, parseModelList } from './listed-models.ts';
import type { RemoteUpstream } from './upstreams.ts';
import type { UpstreamId } from '#shared/ids.ts';
import type { FetchEdges } from '../../platform/http/fetch-body.ts';
import { readErrorBody, shownWords, bodyWithout, ownSecrets } from '../protocols/upstream-error.ts';
import { surfacedFor } from './failure.ts';
import { fetchModelList, type Source } from './own-requests.ts';

export type ModelCatalogue = ReturnType<typeof createModelCatalogue>;

interface CatalogueDeps extends FetchEdges {
  readonly memory: Memory;
  readonly config: () => Config;
  readonly modelsRead: (id: UpstreamId, isUp: boolean) => void;
}

const FRESH_MS = 600_000;
const RETRY_MS = 60_000;
/** OpenRouter lists hundreds of models with their descriptions. */
const LIMITS = { timeoutMs: 10_000, maxBytes: 8 * 1024 * 1024 };

/**
 * The models of an upstream as of its last answer; an old or missing list is requested in the background. `ondemand` is not
 * asked, as any request may start a GPU that is paid for, and under zero-spend nobody is. A list stays while its upstream is
 * down: it will most likely have the same models again.
 */
export const createModelCatalogue = (deps: CatalogueDeps) => ({
  listedBy(upstream: RemoteUpstream): readonly ListedModel[] {
    const known = deps.memory.of(upstream.id);
    const before = known.get('models') ?? { list: [], askAgainAt: -Infinity };
    const mayAsk = upstream.id !== 'ondemand' && !deps.config().routing.forceZero;
    if (mayAsk && deps.clock.ticks() >= before.askAgainAt)
      void ask(upstream, known, before.list, deps);
    return before.list;
  },
});

async function ask(
  upstream: RemoteUpstream,
  known: Knowledge,
  before: readonly ListedModel[],
  deps: CatalogueDeps,
): Promise<void> {
  known.set('models', '', { list: before, askAgainAt: Infinity });
  const answer = await fetchModelList(upstream, LIMITS, deps);
  const isList = answer.kind === 'response' && answer.status === 200;
  const list = isList ? parseModelList(answer.body) : null;
  const askAgainAt = deps.clock.ticks() + (list === null ? RETRY_MS : FRESH_MS);
  known.set('models', '', { list: list ?? before, askAgainAt });
  deps.modelsRead(upstream.id, isList);
}

/** The models that an upstream lists, for its owner to choose from. Never rejects. */
export async function fetchModels(source: Source, edges: FetchEdges) {
  const { baseAddress, apiKey, headers } = source;
  const { origin, apiPath } = baseAddress;
  const result = await fetchModelList(source, LIMITS, edges);
  switch (result.kind) {
    case 'timed_out':
      return failed('timeout', `${origin} did not answer in 10 s.`);
    case 'too_large':
      return failed('bad_response', `${origin}: ${result.detail}.`);
    case 'exhausted':
      return failed(
        'gateway_exhausted',
        `This gateway has no file descriptor left to ask ${origin}; try again.`,
      );
    case 'response':
      break;
    default:
      return failed('unreachable', `${origin} cannot be reached (${result.detail}).`);
  }
  const { status, body } = result;
  if (status === 401 || status === 403) {
    const secrets = ownSecrets(baseAddress, [apiKey, ...Object.values(headers)]);
    const words = shownWords(readErrorBody(bodyWithout(secrets, body)).message);
    return failed(
      'credentials',
      `${origin} rejected the API key${words === '' ? '.' : `: ${words}`}`,
    );
  }
  const models = status === 200 ? parseModelList(body) : null;
  if (models !== null) return { kind: 'models', models: models.map((model) => model.id) } as const;
  const message = `${origin}${apiPath}/models answered HTTP ${status} without a list of models. Check the base URL.`;
  const reason = status === 200 ? 'bad_response' : (`http_${status}` as const);
  return { ...failed('bad_response', message), reason };
}

function failed(reason: Parameters<typeof surfacedFor>[0], message: string) {
  return { kind: 'failed', reason, error: { ...surfacedFor(reason), message } } as const;
}
