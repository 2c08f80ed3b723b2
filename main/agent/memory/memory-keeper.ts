import type { AgentProblem } from '#shared/agent.ts';
import {
  type TellResult,
  holds,
  holdsForLife,
  type ModelAction,
  type ReachableEngine,
  tellEngine,
} from '../engines/tell-engine.ts';
import type { MemoryGoal, OwnerMode } from '../availability/availability.ts';
import { createTurns } from '../../platform/async.ts';
import { createResidency, idleModels, type ModelPlace } from './residency.ts';
import { join } from 'node:path';
import { z } from 'zod';
import { type Clock, sleep } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { createStateFile } from '../../platform/files.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import type { EngineView } from '../../engines/adapters/engine-view.ts';
import { controlOf } from '../engines/model-control.ts';
import type { EngineWatch } from '../engines/watch.ts';

/** What is being done with the memory of this machine's engines. In every state but `kept` it takes no requests. */
type MemoryState =
  /** The engines hold what they like. */
  | { readonly kind: 'kept' }
  | { readonly kind: 'freeing' | 'freed' }
  | { readonly kind: 'loading' | 'unloading'; readonly model: string };

/** A model that an engine held in memory. */
interface HeldModel {
  /** The engine's `baseUrl`. */
  readonly engine: string;
  readonly model: string;
}

type ModelChangeResult =
  | TellResult
  | {
      readonly kind: 'refused';
      readonly code: 'freed' | 'requests_running' | 'model_not_found';
      readonly message: string;
    };

/** The state that pieces of work change. */
interface MemoryHolder {
  readonly state: () => MemoryState;
  readonly become: (next: MemoryState) => void;
  /** What is loaded again before requests return. */
  readonly toLoad: () => readonly HeldModel[];
  /** Resolves once it is on disk. */
  readonly setToLoad: (models: readonly HeldModel[]) => Promise<void>;
  readonly setProblems: (problems: readonly AgentProblem[]) => void;
}

/** How the machine serves, given what its owner wants and what is done with its memory. */
export function modeWithMemory(owner: OwnerMode, memory: MemoryState, inFlight: number): OwnerMode {
  if (memory.kind === 'kept') return owner;
  const closed = inFlight > 0 ? 'draining' : 'paused';
  return {
    mode: owner.mode === 'on' ? closed : owner.mode,
    reasons: [...owner.reasons, SAYINGS[memory.kind]('model' in memory ? memory.model : '')],
  };
}

const SAYINGS: Readonly<Record<Exclude<MemoryState['kind'], 'kept'>, (model: string) => string>> = {
  freeing: () => 'Its models are being unloaded.',
  freed: () => 'Its models are loaded again before requests return.',
  loading: (model) => `Loads ${model}; requests return when that is done.`,
  unloading: (model) => `Unloads ${model}.`,
};

interface MemoryKeeperDeps extends Omit<MemoryDeps, 'signal'> {
  readonly dataDirectory: string;
  /** Idle models are unloaded after this; null: never. */
  readonly idleUnloadMs: () => number | null;
  readonly lastEndedTicks: () => number | null;
  readonly changed: () => void;
}

export type MemoryKeeper = ReturnType<typeof createMemoryKeeper>;

/** Has models loaded and unloaded as the owner, the owner's rules and the time want it: one thing at a time. */
export function createMemoryKeeper(deps: MemoryKeeperDeps) {
  const { engines, clock, changed } = deps;
  const stopping = new AbortController();
  const takeTurn = createTurns();
  const residency = createResidency(clock);
  let state: MemoryState = { kind: 'kept' };
  let problems: readonly AgentProblem[] = [];
  let toLoad: readonly HeldModel[] = [];
  let waiting = 0;
  /** When an engine last refused to unload an idle model. */
  let refusedTicks = -Infinity;
  const path = join(deps.dataDirectory, FILE);
  const file = createStateFile(path, () => ({ version: 1, toLoad }), deps);

  const held: MemoryHolder = {
    state: () => state,
    become(next) {
      state = next;
      changed();
    },
    toLoad: () => toLoad,
    setToLoad(models) {
      toLoad = models;
      file.changed();
      return file.flush();
    },
    setProblems: (found) => void (problems = found),
  };
  const work = createMemoryWork(held, { ...deps, signal: stopping.signal });

  /** When no work is left, something else may be wanted by now. */
  async function inTurn<T>(piece: () => Promise<T>): Promise<T> {
    waiting += 1;
    try {
      return await takeTurn(piece);
    } finally {
      waiting -= 1;
      look();
    }
  }

  const isFreeWanted = () => deps.goal().kind === 'freed';

  function idleNow() {
    const limitMs = deps.idleUnloadMs();
    if (limitMs === null || deps.inFlight() > 0) return [];
    if (clock.ticks() - refusedTicks < limitMs) return [];
    const rule = { limitMs, nowTicks: clock.ticks(), lastEndedTicks: deps.lastEndedTicks() };
    return idleModels(engines.reachable(), residency, rule);
  }

  async function unloadIdle(idle: readonly ModelPlace[]): Promise<void> {
    if (!(await work.unloadIdle(idle))) refusedTicks = clock.ticks();
  }

  /** Starts what is wanted now; call it whenever that may have changed. */
  function look(): void {
    residency.see(engines.reachable().map(({ view }) => view));
    if (waiting > 0 || stopping.signal.aborted) return;
    if (isFreeWanted()) {
      if (state.kind === 'kept') void inTurn(() => work.free());
      return;
    }
    if (state.kind === 'freed') {
      const [first] = toLoad;
      if (first === undefined) {
        held.become({ kind: 'kept' });
        return;
      }
      void inTurn(() => work.restore());
      return;
    }
    const idle = idleNow();
    if (idle.length > 0) void inTurn(() => unloadIdle(idle));
  }

  return {
    start() {
      toLoad = fileSchema.safeParse(file.load()).data?.toLoad ?? [];
      if (toLoad.length > 0 && !isFreeWanted()) state = { kind: 'freed' };
      look();
    },
    state: () => state,
    look,
    /** Unloads what has been loaded since the memory was freed; resolves once the memory is free. */
    freeNow: () => (isFreeWanted() ? inTurn(() => work.free()) : Promise.resolve()),
    /** Resolves once nothing is being loaded or unloaded. */
    settled: () => takeTurn(() => Promise.resolve()),
    load: (model: string) => inTurn(() => work.change('load', model)),
    unload: (model: string) => inTurn(() => work.change('unload', model)),
    problems: () => problems,
    toLoad: () => toLoad,
    since: (engine: string, model: string) => residency.since(engine, model)?.wallMs ?? null,
    stop: () => stopping.abort(),
  };
}

const FILE = 'agent-memory.json';

/** The models that were unloaded to free the memory, so that they come back after a restart too. */
const fileSchema = z.object({
  version: z.literal(1),
  toLoad: z.array(z.object({ engine: z.string(), model: z.string() })),
});

interface MemoryDeps {
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
function createMemoryWork(held: MemoryHolder, deps: MemoryDeps) {
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

    /** Whether no engine refused. */
    async unloadIdle(places: readonly ModelPlace[]): Promise<boolean> {
      let isDone = true;
      for (const { engine, model } of places) {
        if (isFreeWanted() || deps.inFlight() > 0) break;
        const closed = { kind: 'unloading', model } as const;
        const told = await whileQuiet(closed, () => tell(engine, 'unload', model));
        if (told?.kind === 'failed') isDone = false;
      }
      return isDone;
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
