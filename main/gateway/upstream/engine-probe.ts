import { isDeepStrictEqual } from 'node:util';
import type { EngineKind } from '#shared/engines.ts';
import type { ModelFacts } from '#shared/models.ts';
import type { EngineMemory } from '../../engines/adapters/probe.ts';
import { readEngine } from '../../engines/detect.ts';
import { modelFacts, byPreference } from '../../engines/models.ts';
import { withTimeout } from '../../platform/async.ts';
import { Cancellation } from '../../platform/clock.ts';
import type { FetchEdges, FetchResult } from '../../platform/http/fetch-body.ts';
import { fetchModelList } from './own-requests.ts';
import { type ListedModel, parseModelList } from './listed-models.ts';
import {
  listedName,
  type LocalChoice,
  type LocalSources,
  parseBaseAddress,
  type LocalTarget,
} from './upstreams.ts';

type LocalEngine = ReturnType<typeof createLocalEngine>;

const REFRESH_MS = 30_000;
/** An engine that is down, or has no list yet, is about to be started. */
const RETRY_MS = 5000;
const LIMITS = { timeoutMs: 3000, maxBytes: 4 * 1024 * 1024 };
/** Callers wait meanwhile. */
const MAX_WAIT_MS = 1000;
/** A server that is no known engine is not asked again for what only engines have. */
const STRANGER_MS = 600_000;
/** Longer than an engine needs that is well, and short enough for callers that wait for the list. */
const FACTS_MS = 900;

interface FixedEngineEdges extends FetchEdges {
  /** The memory of the GPUs that the engine at an address has; null while unknown. */
  readonly memoryAt: (baseUrl: string) => number | null;
  /** Whether the engine at an origin gets no requests, because its owner wants the GPU for something else. */
  readonly isHeldBack: (origin: string) => boolean;
  /** The models of the current engine have changed, or what is known of them. */
  readonly changed: () => void;
  /** Its models were read, or it did not answer. */
  readonly read: (isUp: boolean) => void;
}

/** Polls the model list of the engine at `baseUrl`. `replaced` is called when its target has been. */
function createLocalEngine(baseUrl: string, edges: FixedEngineEdges, replaced: () => void) {
  const baseAddress = parseBaseAddress(baseUrl, 'local');
  const { origin, basePath, basicAuth } = baseAddress;
  const source = { baseAddress, apiKey: null, headers: {} } as const;
  const address = { origin, basePath, authorization: basicAuth };
  const memory: EngineMemory = new Map();
  let running = new Cancellation();
  /** What it is; null while unknown. */
  let kind: EngineKind | null = null;
  let strangerUntil = -Infinity;
  /** It has no models until the first list has arrived. */
  let known: LocalTarget = {
    provider: null,
    baseAddress: { ...baseAddress, signal: running },
    models: [],
    listed: [],
    facts: [],
    ownedBy: null,
    gatewayToken: null,
  };
  let lastUsed: string | null = null;
  /** A model has answered since the list was last asked for, which may not have it as loaded yet. */
  let isOutdated = false;
  let cancelTimer = () => {};
  let stopped = false;
  let refreshing: Promise<void> | null = null;
  /** When it last said what it is, in milliseconds since the epoch. */
  let identifiedAt: number | null = null;
  /** Until when it is not waited for, in clock ticks: it has kept callers waiting for nothing. */
  let silentUntil = -Infinity;

  function become(next: LocalTarget): void {
    known = next;
    replaced();
  }

  function refresh(): Promise<void> {
    cancelTimer();
    refreshing ??= readList().finally(() => (refreshing = null));
    return refreshing;
  }

  async function readList(): Promise<void> {
    isOutdated = false;
    const result = await fetchModelList(source, LIMITS, edges);
    const isList = result.kind === 'response' && result.status === 200;
    const told = isList
      ? await withTimeout(factsIn(result), { clock: edges.clock, ms: FACTS_MS })
      : null;
    if (stopped) return;
    // While an engine is down its last list stays: it will most likely have the same models again.
    const listed = isList ? parseModelList(result.body) : null;
    // llama.cpp with a key names itself in its headers, but refuses its list.
    const isLlamaCpp = result.kind === 'response' && result.headers['server'] === 'llama.cpp';
    if (listed === null && isLlamaCpp) become({ ...known, ownedBy: 'llamacpp' });
    const isUp = result.kind === 'response' && (isLlamaCpp || result.status < 500);
    if (isUp) identifiedAt = edges.clock.now();
    edges.read(isUp);
    if (listed !== null) noteList(listed, told?.kind === 'settled' ? told.value : []);
    const pauseMs = isOutdated ? 0 : listed === null ? RETRY_MS : REFRESH_MS;
    cancelTimer = edges.clock.after(pauseMs, () => void refresh());
  }

  function noteList(listed: readonly ListedModel[], facts: readonly ModelFacts[]): void {
    const before = known;
    const ownedBy = listed.find(({ owner }) => owner !== null)?.owner ?? null;
    const present = isOutdated ? withLoaded(facts, lastUsed) : facts;
    become({ ...known, ownedBy, listed, ...inOrder(listed, present) });
    // Some engines say that their models were created just now.
    if (!isDeepStrictEqual({ ...before, listed }, known)) edges.changed();
  }

  /** What the engine says of its models apart from their list. */
  async function factsIn(list: FetchResult): Promise<readonly ModelFacts[]> {
    if (edges.clock.ticks() < strangerUntil) return [];
    const found = await readEngine(address, { was: kind, list }, { ...edges, memory });
    if (found === null) strangerUntil = edges.clock.ticks() + STRANGER_MS;
    const facts = found?.detail.facts ?? [];
    // Another may have taken its place.
    kind = facts.length === 0 ? null : (found?.kind ?? null);
    return facts;
  }

  /** The models in the order of preference; what the list has and the engine's own API has not comes after. */
  function inOrder(
    listed: readonly ListedModel[],
    facts: readonly ModelFacts[],
  ): Pick<LocalTarget, 'models' | 'facts'> {
    const said = new Map(facts.map((model) => [model.id, model]));
    // If the engine is known, only its own API counts: some lists have what a model was trained with.
    const isSilent = facts.length === 0;
    const all = listed.map(
      ({ id, contextLength }) =>
        said.get(id) ?? modelFacts(id, isSilent ? { context_length: contextLength } : {}),
    );
    const preferred = byPreference(all, { lastUsed, memoryBytes: edges.memoryAt(baseUrl) });
    return { models: preferred.map(({ id }) => id), facts: preferred };
  }

  /** Ends with the list, or after a second without one. */
  async function waitForList(): Promise<void> {
    const end = await withTimeout(refresh(), { clock: edges.clock, ms: MAX_WAIT_MS });
    if (end.kind !== 'settled') silentUntil = edges.clock.ticks() + RETRY_MS;
  }

  return {
    target: () => known,
    /** Ends the requests that it is answering. */
    endAll() {
      running.abort();
      running = new Cancellation();
      become({ ...known, baseAddress: { ...baseAddress, signal: running } });
    },
    /** A model of it has answered. */
    used(name: string) {
      const { facts, models, listed } = known;
      const model = listedName(models, name) ?? name;
      if (model === lastUsed) return;
      lastUsed = model;
      const before = facts.find(({ id }) => id === model);
      become({ ...known, ...inOrder(listed, withLoaded(facts, model)) });
      if (before?.loaded !== false) return;
      // The engine has loaded it, and may have thrown out another.
      isOutdated = true;
      void refresh();
    },
    /** Reads its models now. */
    refresh,
    /** What it is and where; null while that is unknown. */
    at: () => (kind === null ? null : { kind, address }),
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

/** A request would load again what was unloaded. */
const HELD_BACK = { kind: 'none', reason: 'paused' } as const;

export function createFixedEngine(edges: FixedEngineEdges) {
  let engine: LocalEngine | null = null;
  const source: { choice: LocalChoice | null } = { choice: null };

  function look(): void {
    const target = engine?.target() ?? null;
    const isHeldBack = target !== null && edges.isHeldBack(target.baseAddress.origin);
    source.choice = isHeldBack ? HELD_BACK : target && { kind: 'target', target };
  }

  return {
    source: source as LocalSources['fixed'],
    /** To be called when `isHeldBack` may have changed. */
    look,
    /** Null while none is set, or none at such an address. */
    current: (isAsked: (origin: string) => boolean = () => true) =>
      engine !== null && isAsked(engine.target().baseAddress.origin) ? engine : null,
    set(baseUrl: string | null) {
      engine?.stop();
      engine = baseUrl === null ? null : createLocalEngine(baseUrl, edges, look);
      look();
      void engine?.refresh();
    },
  };
}

function withLoaded(facts: readonly ModelFacts[], model: string | null): readonly ModelFacts[] {
  return facts.map((each) => (each.id === model ? { ...each, loaded: true } : each));
}
