import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../platform/clock.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import type { ModelFacts } from '#shared/models.ts';
import type { EngineKind } from '../../engines/adapters/engine-view.ts';
import type { EngineMemory } from '../../engines/adapters/probe.ts';
import { readEngine } from '../../engines/detect.ts';
import { modelFacts, byPreference } from '../../engines/models.ts';
import { withTimeout } from '../../platform/async.ts';
import type { FetchResult } from '../../platform/http/fetch-body.ts';
import { fetchModelList } from './model-catalogue.ts';
import { parseModelList } from './listed-models.ts';
import { type BaseAddress, listedName, parseBaseAddress, type LocalTarget } from './upstreams.ts';

type LocalEngine = ReturnType<typeof createLocalEngine>;

const REFRESH_MS = 30_000;
/** An engine that is down, or has no list yet, is about to be started. */
const RETRY_MS = 5000;
const LIMITS = { timeoutMs: 3000, maxBytes: 4 * 1024 * 1024 };
/** Callers wait meanwhile. */
const MAX_WAIT_MS = 1000;

interface FixedEngineListeners {
  /** The models of the current engine have changed, or what is known of them. */
  readonly changed: () => void;
  /** It answered when it was last read, and does not now. */
  readonly isDown: () => void;
}

/** Polls the model list of the engine at `baseUrl`. */
function createLocalEngine(
  baseUrl: string,
  edges: FixedEngineEdges,
  { changed, isDown }: FixedEngineListeners,
) {
  const baseAddress = parseBaseAddress(baseUrl, 'local');
  const source = { id: 'local', baseAddress, apiKey: null, headers: {} } as const;
  let known: ListedModels = { models: null, ownedBy: null };
  const reader = createReader(baseAddress, edges);
  let lastUsed: string | null = null;
  /** A model has answered since the list was last asked for, which may not have it as loaded yet. */
  let isOutdated = false;
  let cancelTimer = () => {};
  let stopped = false;
  let refreshing: Promise<void> | null = null;
  let wasUp = false;
  /** When it last said what it is, in milliseconds since the epoch. */
  let identifiedAt: number | null = null;
  /** Until when it is not waited for, in clock ticks: it has kept callers waiting for nothing. */
  let silentUntil = -Infinity;

  function refresh(): Promise<void> {
    cancelTimer();
    refreshing ??= readList().finally(() => (refreshing = null));
    return refreshing;
  }

  async function readList(): Promise<void> {
    isOutdated = false;
    const result = await fetchModelList(source, LIMITS, edges);
    const isList = result.kind === 'response' && result.status === 200;
    const told = isList ? await reader.facts(result) : [];
    if (stopped) return;
    // While an engine is down its last list stays: it will most likely have the same models again.
    const listed = isList ? listedModels(result.body) : null;
    // llama.cpp with a key names itself in its headers, but refuses its list.
    const isLlamaCpp = result.kind === 'response' && result.headers['server'] === 'llama.cpp';
    if (listed === null && isLlamaCpp) known = { ...known, ownedBy: 'llamacpp' };
    const isUp = result.kind === 'response' && (isLlamaCpp || result.status < 500);
    noteUp(isUp);
    if (listed !== null) {
      const before = known;
      known = inOrder(listed, isOutdated ? withLoaded(told, lastUsed) : told);
      // Some engines say that their models were created just now.
      if (!isDeepStrictEqual(namesOf(before), namesOf(known))) changed();
    }
    const pauseMs = isOutdated ? 0 : listed === null ? RETRY_MS : REFRESH_MS;
    cancelTimer = edges.clock.after(pauseMs, () => void refresh());
  }

  function noteUp(isUp: boolean): void {
    if (isUp) identifiedAt = edges.clock.now();
    else if (wasUp) isDown();
    wasUp = isUp;
  }

  function inOrder(listed: ListedModels, facts: readonly ModelFacts[]): ListedModels {
    return withFacts(listed, facts, { lastUsed, memoryBytes: edges.memoryAt(baseUrl) });
  }

  /** Ends with the list, or after a second without one. */
  async function waitForList(): Promise<void> {
    let cancel = () => {};
    const waited = new Promise<void>((resolve) => {
      cancel = edges.clock.after(MAX_WAIT_MS, () => {
        silentUntil = edges.clock.ticks() + RETRY_MS;
        resolve();
      });
    });
    await Promise.race([refresh(), waited]);
    cancel();
  }

  return {
    /** The engine as a target; it has no models until the first list has arrived. */
    target: (): LocalTarget => ({ provider: null, baseAddress, ...known, gatewayToken: null }),
    /** A model of it has answered. */
    used(name: string) {
      const { facts = [], models } = known;
      const model = models === null ? name : (listedName(models, name) ?? name);
      if (model === lastUsed) return;
      lastUsed = model;
      const before = facts.find(({ id }) => id === model);
      if (models !== null) known = inOrder(known, withLoaded(facts, model));
      if (before?.loaded !== false) return;
      // The engine has loaded it, and may have thrown out another.
      isOutdated = true;
      void refresh();
    },
    /** Reads its models now. */
    refresh,
    /** What it is and where; null while that is unknown. */
    at() {
      const kind = reader.kind();
      return kind === null ? null : { kind, address: reader.address };
    },
    stop() {
      stopped = true;
      cancelTimer();
    },
    /**
     * Ends once the engine is known, or has been waited for a second; null if it has been known since its last failure
     * (in milliseconds since the epoch).
     */
    identified(failedAt: number | null): Promise<void> | null {
      const isKnown = identifiedAt !== null && identifiedAt >= (failedAt ?? 0);
      return isKnown || edges.clock.ticks() < silentUntil ? null : waitForList();
    },
  };
}

/** The fixed engine, which the settings may replace or remove. */
export type FixedEngine = ReturnType<typeof createFixedEngine>;

interface FixedEngineEdges {
  readonly http: HttpClient;
  readonly clock: Clock;
  /** The memory of the GPUs that the engine at an address has; null while unknown. */
  readonly memoryAt: (baseUrl: string) => number | null;
}

export function createFixedEngine(deps: FixedEngineEdges, listeners: FixedEngineListeners) {
  let engine: LocalEngine | null = null;
  return {
    /** Null while none is set. */
    current: () => engine,
    set(baseUrl: string | null) {
      engine?.stop();
      engine = baseUrl === null ? null : createLocalEngine(baseUrl, deps, listeners);
      void engine?.refresh();
    },
  };
}

type ListedModels = Pick<LocalTarget, 'models' | 'ownedBy' | 'listed' | 'facts'>;

const namesOf = ({ models, ownedBy, facts }: ListedModels) => ({ models, ownedBy, facts });

function withLoaded(facts: readonly ModelFacts[], model: string | null): readonly ModelFacts[] {
  return facts.map((each) => (each.id === model ? { ...each, loaded: true } : each));
}

/** The models in the order of preference; what the list has and the engine's own API has not comes after. */
function withFacts(
  listed: ListedModels,
  facts: readonly ModelFacts[],
  circumstances: Parameters<typeof byPreference>[1],
): ListedModels {
  const models = listed.models ?? [];
  const said = new Map(facts.map((model) => [model.id, model]));
  const lengths = new Map(listed.listed?.map((model) => [model.id, model.contextLength]));
  // If the engine is known, only its own API counts: some lists have what a model was trained with.
  const unsaid = (id: string) =>
    modelFacts(id, facts.length === 0 ? { context_length: lengths.get(id) ?? null } : {});
  const all = models.map((id) => said.get(id) ?? unsaid(id));
  const preferred = byPreference(all, circumstances);
  return { ...listed, models: preferred.map(({ id }) => id), facts: preferred };
}

/** A server that is no known engine is not asked again for what only engines have. */
const STRANGER_MS = 600_000;

/** Longer than an engine needs that is well, and short enough for callers that wait for the list. */
const FACTS_MS = 900;

/** Reads what the engine says of its models apart from their list. */
function createReader(
  { origin, basePath, basicAuth }: BaseAddress,
  edges: Pick<FixedEngineEdges, 'http' | 'clock'>,
) {
  const address = { origin, basePath, authorization: basicAuth };
  const memory: EngineMemory = new Map();
  let kind: EngineKind | null = null;
  let strangerUntil = -Infinity;

  async function read(list: FetchResult): Promise<readonly ModelFacts[]> {
    if (edges.clock.ticks() < strangerUntil) return [];
    const found = await readEngine(address, { was: kind, list }, { ...edges, memory });
    if (found === null) strangerUntil = edges.clock.ticks() + STRANGER_MS;
    const facts = found?.detail.facts ?? [];
    // Another may have taken its place.
    kind = facts.length === 0 ? null : (found?.kind ?? null);
    return facts;
  }

  return {
    kind: () => kind,
    address,
    async facts(list: FetchResult): Promise<readonly ModelFacts[]> {
      const end = await withTimeout(read(list), { clock: edges.clock, ms: FACTS_MS });
      return end.kind === 'settled' ? end.value : [];
    },
  };
}

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
