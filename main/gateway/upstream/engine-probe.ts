import { isDeepStrictEqual } from 'node:util';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import { isObject } from '#shared/objects.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import { fetchBody } from '../../platform/http/fetch-body.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import type { LocalChoice } from './call.ts';
import { parseJson } from '../../platform/json.ts';
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
  const endpoint = parseBaseAddress(baseUrl, 'local');
  const { origin, basePath, query, basicAuth } = endpoint;
  let known: ListedModels = { models: null, ownedBy: null };
  let cancelTimer = () => {};
  let stopped = false;

  async function refresh(): Promise<void> {
    const path = `${basePath}/v1/models${query}`;
    const headers = basicAuth === null ? [] : ['authorization', basicAuth];
    const result = await fetchBody(
      { origin, path, headers, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES },
      { http, clock },
    );
    if (stopped) return;
    // While an engine is down its last list stays: it will most likely have the same models again.
    const listed =
      result.kind === 'response' && result.status === 200 ? listedModels(result.body) : null;
    if (listed !== null && !isDeepStrictEqual(listed, known)) {
      known = listed;
      changed();
    }
    cancelTimer = clock.after(listed === null ? RETRY_MS : REFRESH_MS, () => void refresh());
  }

  return {
    target: () => ({ provider: null, endpoint, ...known, gatewayToken: null }),
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

type ListedModels = Pick<LocalTarget, 'models' | 'ownedBy'>;

/** Null if the body is not an OpenAI model list. Together sends the bare array. */
export function listedModels(body: Buffer): ListedModels | null {
  const list = parseJson(body.toString('utf8'));
  const data = isObject(list) ? list['data'] : list;
  if (!Array.isArray(data)) return null;
  const entries = (data as unknown[]).filter(isObject);
  const owners = entries.map((model) => model['owned_by']);
  return {
    models: entries.map(({ id }) => id).filter((id) => typeof id === 'string'),
    ownedBy: owners.find((owner) => typeof owner === 'string') ?? null,
  };
}

interface ModelEntry {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  /** The first upstream in routing order that has the model. */
  readonly owned_by: string;
}

/** In OpenAI's format: the models of `local`, and those that the other upstreams are configured with. */
export function modelList(
  config: Config,
  local: LocalChoice,
): { readonly object: 'list'; readonly data: readonly ModelEntry[] } {
  const owners = new Map<string, string>();
  for (const id of UPSTREAM_IDS) {
    for (const model of modelsOf(id, config, local)) {
      if (!owners.has(model)) owners.set(model, id);
    }
  }
  const data = [...owners].map(([id, owner]): ModelEntry => {
    return { id, object: 'model', created: 0, owned_by: owner };
  });
  return { object: 'list', data };
}

/** Of the engine, or of all machines of the pool together. */
function localModels(local: LocalChoice): readonly string[] {
  switch (local.kind) {
    case 'none':
      return [];
    case 'target':
      return local.target.models ?? [];
    case 'tier':
      return local.targets.flatMap(({ models }) => models ?? []);
  }
}

function modelsOf(
  id: (typeof UPSTREAM_IDS)[number],
  config: Config,
  local: LocalChoice,
): readonly string[] {
  if (id === 'local') return localModels(local);
  const { baseUrl, model } = config[id];
  return baseUrl === null || model === null ? [] : [model];
}
