import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import { fetchModelList } from './fetch-models.ts';
import { type ListedModel, parseModelList } from './listed-models.ts';
import type { RemoteUpstream } from './upstreams.ts';

/** The models that hosted upstreams list. */
export interface ModelCatalogue {
  /** As of the last answer; an old or missing list is requested in the background. */
  listedBy(upstream: RemoteUpstream): readonly ListedModel[];
  /** Its address, key or model changed. */
  forget(id: string): void;
}

interface CatalogueDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly config: () => Config;
}

const FRESH_MS = 600_000;
const RETRY_MS = 60_000;
const LIMITS = { timeoutMs: 10_000, maxBytes: 8 * 1024 * 1024 };

interface Known {
  models: readonly ListedModel[];
  /** In clock ticks; Infinity while it is asked. */
  askAgainAt: number;
}

/**
 * `ondemand` is not asked, as any request may start a GPU that is paid for, and under zero-spend nobody is. A list
 * stays while its upstream is down: it will most likely have the same models again.
 */
export function createModelCatalogue(deps: CatalogueDeps): ModelCatalogue {
  const { clock, config } = deps;
  const known = new Map<string, Known>();

  async function ask(upstream: RemoteUpstream, entry: Known): Promise<void> {
    entry.askAgainAt = Infinity;
    const answer = await fetchModelList(upstream, LIMITS, deps);
    const isList = answer.kind === 'response' && answer.status === 200;
    const models = isList ? parseModelList(answer.body) : null;
    entry.models = models ?? entry.models;
    entry.askAgainAt = clock.ticks() + (models === null ? RETRY_MS : FRESH_MS);
  }

  return {
    listedBy(upstream) {
      const { id } = upstream;
      const entry = known.get(id) ?? { models: [], askAgainAt: -Infinity };
      known.set(id, entry);
      const mayAsk = id !== 'ondemand' && !config().routing.forceZero;
      if (mayAsk && clock.ticks() >= entry.askAgainAt) void ask(upstream, entry);
      return entry.models;
    },
    // A list that arrives later is stored in the forgotten entry.
    forget: (id) => void known.delete(id),
  };
}
