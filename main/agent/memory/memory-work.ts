import type { AgentProblem } from '#shared/agent.ts';
import { type Clock, sleep } from '../../platform/clock.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import type { Log } from '../../platform/log.ts';
import type { EngineView } from '../../engines/adapters/engine-view.ts';
import { controlOf } from '../engines/model-control.ts';
import {
  holds,
  holdsForLife,
  type ModelAction,
  type ReachableEngine,
  tellEngine,
  type TellResult,
} from '../engines/tell-engine.ts';
import type { EngineWatch } from '../engines/watch.ts';
import type {
  HeldModel,
  MemoryHolder,
  MemoryState,
  MemoryGoal,
  ModelChangeResult,
} from './memory-state.ts';

export interface MemoryDeps {
  readonly engines: Pick<EngineWatch, 'reachable' | 'readNow' | 'looked'>;
  readonly goal: () => MemoryGoal;
  /** Requests of gateways that this machine's engines are answering. */
  readonly inFlight: () => number;
  readonly endRunning: () => void;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const POLL_MS = 100;
/** How long a change waits for running requests; new ones are answered elsewhere meanwhile. */
const CHANGE_WAIT_MS = 60_000;

/** Pieces of work on the memory; one runs at a time. None loads or unloads anything while a request runs. */
export function createMemoryWork(held: MemoryHolder, deps: MemoryDeps) {
  const { engines, clock, log, signal } = deps;
  const isFreeWanted = () => deps.goal().kind === 'freed';
  const engineAt = (baseUrl: string) =>
    engines.reachable().find(({ view }) => view.baseUrl === baseUrl) ?? null;

  /** Waits while `goesOn`, for `limitMs` at most; whether no request runs then. */
  async function isQuietWithin(limitMs: number, goesOn: () => boolean): Promise<boolean> {
    const deadline = clock.ticks() + limitMs;
    while (deps.inFlight() > 0 && clock.ticks() < deadline && goesOn() && !signal.aborted) {
      await sleep(clock, POLL_MS, signal);
    }
    return deps.inFlight() === 0;
  }

  async function tell(
    engine: ReachableEngine,
    action: ModelAction,
    model: string,
  ): Promise<TellResult> {
    const { kind, baseUrl } = engine.view;
    const readAgain = async () => {
      await engines.readNow();
      return engineAt(baseUrl)?.view ?? null;
    };
    const told = await tellEngine(engine, { action, model }, { ...deps, readAgain });
    const why = told.kind === 'failed' ? { why: told.happened } : {};
    log('info', 'model_memory', { action, model, engine: kind, result: told.kind, ...why });
    return told;
  }

  async function unloadAll(): Promise<readonly AgentProblem[]> {
    const found: AgentProblem[] = [];
    for (const engine of engines.reachable()) {
      const { baseUrl, loaded } = engine.view;
      const stays = cannotUnload(engine.view);
      if (stays !== null) found.push(stays);
      const models = stays === null ? (loaded ?? []) : [];
      for (const model of models) {
        const told = await tell(engine, 'unload', model);
        if (told.kind === 'failed') found.push(problemOf(`unloading ${model}`, told));
        else await held.setToLoad(withHeld(held.toLoad(), { engine: baseUrl, model }));
      }
    }
    return found;
  }

  /** Does `work` while this machine takes no requests; null if one still runs after `CHANGE_WAIT_MS`. */
  async function whileQuiet<T>(closed: MemoryState, work: () => Promise<T>): Promise<T | null> {
    held.become(closed);
    const isQuiet = await isQuietWithin(CHANGE_WAIT_MS, () => !isFreeWanted());
    const result = isQuiet ? await work() : null;
    held.become({ kind: 'kept' });
    return result;
  }

  return {
    async free(): Promise<void> {
      held.become({ kind: 'freeing' });
      await engines.looked();
      const goal = deps.goal();
      const graceMs = goal.kind === 'freed' ? (goal.graceMs ?? Infinity) : 0;
      const isQuiet = await isQuietWithin(graceMs, isFreeWanted);
      if (signal.aborted) return;
      if (!isFreeWanted()) {
        // Somebody has thought better of it; what was unloaded before is still to be loaded.
        held.become({ kind: held.toLoad().length > 0 ? 'freed' : 'kept' });
        return;
      }
      if (!isQuiet) deps.endRunning();
      await engines.readNow();
      held.setProblems(await unloadAll());
      held.become({ kind: 'freed' });
    },

    /** Loads what was unloaded. */
    async restore(): Promise<void> {
      await engines.looked();
      await engines.readNow();
      const found: AgentProblem[] = [];
      for (const { engine: baseUrl, model } of held.toLoad()) {
        if (signal.aborted) return;
        if (isFreeWanted()) {
          // Freeing starts again, because some are loaded by now.
          held.become({ kind: 'kept' });
          return;
        }
        const engine = engineAt(baseUrl);
        // One that was stopped meanwhile loads nothing.
        if (engine === null || engine.view.health.status === 'unreachable') continue;
        if (holds(engine.view.loaded ?? [], model)) continue;
        held.become({ kind: 'loading', model });
        const told = await tell(engine, 'load', model);
        if (told.kind === 'failed') found.push(problemOf(`loading ${model}`, told));
      }
      held.setProblems(found);
      await held.setToLoad([]);
      held.become({ kind: 'kept' });
    },

    async change(action: ModelAction, asked: string): Promise<ModelChangeResult> {
      if (held.state().kind !== 'kept' || isFreeWanted()) return FREED;
      await engines.readNow();
      const found = placesOf(engines.reachable(), action, asked);
      if (found.kind === 'unknown') return notFound(asked, found.offered);
      held.setProblems([]);
      for (const { engine, model } of found.places) {
        const closed = { kind: action === 'load' ? 'loading' : 'unloading', model } as const;
        const told = await whileQuiet(closed, () => tell(engine, action, model));
        if (told === null) return isFreeWanted() ? FREED : BUSY;
        if (told.kind === 'failed') return told;
      }
      return { kind: 'done' };
    },

    async unloadIdle(places: readonly ModelPlace[]): Promise<void> {
      for (const { engine, model } of places) {
        if (isFreeWanted() || deps.inFlight() > 0) return;
        await whileQuiet({ kind: 'unloading', model }, () => tell(engine, 'unload', model));
      }
    },
  };
}

const FREED: ModelChangeResult = {
  kind: 'refused',
  code: 'freed',
  message:
    'The memory of this machine is freed. Run "switchyard resume" first: it also loads the models that were loaded before.',
};

const BUSY: ModelChangeResult = {
  kind: 'refused',
  code: 'requests_running',
  message: `Requests are still running on this machine after ${CHANGE_WAIT_MS / 1000} s, and models change only when none is; try again later.`,
};

function notFound(asked: string, offered: readonly string[]): ModelChangeResult {
  const known =
    offered.length === 0 ? 'No engine here lists a model.' : `Available: ${offered.join(', ')}.`;
  const message = `No engine of this machine offers "${asked}". ${known}`;
  return { kind: 'refused', code: 'model_not_found', message };
}

function withHeld(models: readonly HeldModel[], one: HeldModel): readonly HeldModel[] {
  const isSame = ({ engine, model }: HeldModel) => engine === one.engine && model === one.model;
  return models.some(isSame) ? models : [...models, one];
}

/** What keeps an engine's memory taken whatever it is told; null if nothing does, or it does not run. */
function cannotUnload({ kind, baseUrl, health }: EngineView): AgentProblem | null {
  if (controlOf(kind) !== null || health.status === 'unreachable') return null;
  return problemOf(`unloading the model of ${baseUrl}`, holdsForLife(kind, baseUrl));
}

function problemOf(
  tried: string,
  { happened, remedy }: Omit<Extract<TellResult, { readonly kind: 'failed' }>, 'kind'>,
): AgentProblem {
  const todo = remedy ?? 'Try again, or restart the engine.';
  return { tool: 'engine', tried, happened, remedy: todo };
}

export interface ModelPlace {
  readonly engine: ReachableEngine;
  /** As that engine names it. */
  readonly model: string;
}

type ModelPlaces =
  /** None where the model is loaded already, or unloaded. */
  | { readonly kind: 'known'; readonly places: readonly ModelPlace[] }
  | { readonly kind: 'unknown'; readonly offered: readonly string[] };

/** Where a change has something to do: at the first engine that offers the model, or at all that hold it. */
function placesOf(
  engines: readonly ReachableEngine[],
  action: ModelAction,
  asked: string,
): ModelPlaces {
  const offered = engines.flatMap(({ view }) => [...view.models, ...(view.loaded ?? [])]);
  if (!holds(offered, asked)) return { kind: 'unknown', offered: [...new Set(offered)] };
  const held = engines.flatMap((engine) =>
    (engine.view.loaded ?? [])
      .filter((model) => holds([model], asked))
      .map((model) => ({ engine, model })),
  );
  if (action === 'unload') return { kind: 'known', places: held };
  const engine = engines.find(({ view }) => holds(view.models, asked));
  const isThere = held.length > 0 || engine === undefined;
  return { kind: 'known', places: isThere ? [] : [{ engine, model: asked }] };
}
