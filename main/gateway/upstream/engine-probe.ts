import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../platform/clock.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import { fetchModelList } from './model-catalogue.ts';
import { parseModelList } from './listed-models.ts';
import { parseBaseAddress, type LocalTarget } from './upstreams.ts';

interface LocalEngine {
  /** Without models until the first list has arrived. */
  target(): LocalTarget;
  start(): void;
  stop(): void;
  identified(failedAt: number | null): Promise<void> | null;
}

const REFRESH_MS = 30_000;
/** An engine that is down, or has no list yet, is about to be started. */
const RETRY_MS = 5000;
const LIMITS = { timeoutMs: 3000, maxBytes: 4 * 1024 * 1024 };
/** Callers wait meanwhile. */
const MAX_WAIT_MS = 1000;

/** Polls the model list of the engine at `baseUrl`; `changed` is called when it changes. */
function createLocalEngine(
  baseUrl: string,
  edges: { readonly http: HttpClient; readonly clock: Clock },
  changed: () => void,
): LocalEngine {
  const baseAddress = parseBaseAddress(baseUrl, 'local');
  const source = { id: 'local', baseAddress, apiKey: null, headers: {} } as const;
  let known: ListedModels = { models: null, ownedBy: null };
  let cancelTimer = () => {};
  let stopped = false;
  let refreshing: Promise<void> | null = null;
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
    const result = await fetchModelList(source, LIMITS, edges);
    if (stopped) return;
    // While an engine is down its last list stays: it will most likely have the same models again.
    const listed =
      result.kind === 'response' && result.status === 200 ? listedModels(result.body) : null;
    // llama.cpp with a key names itself in its headers, but refuses its list.
    const isLlamaCpp = result.kind === 'response' && result.headers['server'] === 'llama.cpp';
    if (listed === null && isLlamaCpp) known = { ...known, ownedBy: 'llamacpp' };
    const isUp = result.kind === 'response' && (isLlamaCpp || result.status < 500);
    if (isUp) identifiedAt = edges.clock.now();
    if (listed !== null) {
      const before = known;
      known = listed;
      // Some engines say that their models were created just now.
      if (!isDeepStrictEqual(namesOf(before), namesOf(known))) changed();
    }
    cancelTimer = edges.clock.after(listed === null ? RETRY_MS : REFRESH_MS, () => void refresh());
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
    target: () => ({ provider: null, baseAddress, ...known, gatewayToken: null }),
    start: () => void refresh(),
    stop() {
      stopped = true;
      cancelTimer();
    },
    identified(failedAt) {
      const isKnown = identifiedAt !== null && identifiedAt >= (failedAt ?? 0);
      return isKnown || edges.clock.ticks() < silentUntil ? null : waitForList();
    },
  };
}

/** The fixed engine, which the settings may replace or remove. */
export interface FixedEngine {
  /** Null while none is set. */
  target(): LocalTarget | null;
  set(baseUrl: string | null): void;
  /**
   * Ends once the engine is known, or has been waited for a second; null if it has been known since its last failure
   * (in milliseconds since the epoch).
   */
  identified(failedAt: number | null): Promise<void> | null;
}

/** `changed` is called when the model list of the current engine changes. */
export function createFixedEngine(
  deps: { readonly http: HttpClient; readonly clock: Clock },
  changed: () => void,
): FixedEngine {
  let engine: LocalEngine | null = null;
  return {
    target: () => engine?.target() ?? null,
    identified: (failedAt) => engine?.identified(failedAt) ?? null,
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
