import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../platform/clock.ts';
import { fetchBody } from '../../platform/http/fetch-body.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import { listHeaders } from './headers.ts';
import { parseModelList } from './listed-models.ts';
import { parseBaseAddress, type LocalTarget } from './upstreams.ts';

interface LocalEngine {
  /** Without models until the first list has arrived. */
  target(): LocalTarget;
  start(): void;
  stop(): void;
}

const REFRESH_MS = 30_000;
/** An engine that is down, or has no list yet, is about to be started. */
const RETRY_MS = 5000;
const TIMEOUT_MS = 3000;
const MAX_BYTES = 4 * 1024 * 1024;

/** Polls the model list of the engine at `baseUrl`; `changed` is called when it changes. */
function createLocalEngine(
  baseUrl: string,
  { http, clock }: { readonly http: HttpClient; readonly clock: Clock },
  changed: () => void,
): LocalEngine {
  const baseAddress = parseBaseAddress(baseUrl, 'local');
  const { origin, basePath, query } = baseAddress;
  const headers = listHeaders({ baseAddress, apiKey: null, headers: {} });
  let known: ListedModels = { models: null, ownedBy: null };
  let cancelTimer = () => {};
  let stopped = false;

  async function refresh(): Promise<void> {
    const path = `${basePath}/v1/models${query}`;
    const result = await fetchBody(
      { origin, path, headers, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES },
      { http, clock },
    );
    if (stopped) return;
    // While an engine is down its last list stays: it will most likely have the same models again.
    const listed =
      result.kind === 'response' && result.status === 200 ? listedModels(result.body) : null;
    if (listed !== null) {
      const before = known;
      known = listed;
      // Some engines say that their models were created just now.
      if (!isDeepStrictEqual(namesOf(before), namesOf(known))) changed();
    }
    cancelTimer = clock.after(listed === null ? RETRY_MS : REFRESH_MS, () => void refresh());
  }

  return {
    target: () => ({ provider: null, baseAddress, ...known, gatewayToken: null }),
    start: () => void refresh(),
    stop() {
      stopped = true;
      cancelTimer();
    },
  };
}

/** The fixed engine, which the settings may replace or remove. */
interface FixedEngine {
  /** Null while none is set. */
  target(): LocalTarget | null;
  set(baseUrl: string | null): void;
}

/** `changed` is called when the model list of the current engine changes. */
export function createFixedEngine(
  deps: { readonly http: HttpClient; readonly clock: Clock },
  changed: () => void,
): FixedEngine {
  let engine: LocalEngine | null = null;
  return {
    target: () => engine?.target() ?? null,
    set(baseUrl) {
      engine?.stop();
      engine = baseUrl === null ? null : createLocalEngine(baseUrl, deps, changed);
      engine?.start();
    },
  };
}

type ListedModels = Pick<LocalTarget, 'models' | 'ownedBy' | 'listed'>;

const namesOf = ({ models, ownedBy }: ListedModels) => ({ models, ownedBy });

/** Null if the body is not an OpenAI model list. */
function listedModels(body: Buffer): ListedModels | null {
  const listed = parseModelList(body);
  if (listed === null) return null;
  return {
    models: listed.map(({ id }) => id),
    ownedBy: listed.find(({ owner }) => owner !== null)?.owner ?? null,
    listed,
  };
}
