import { join } from 'node:path';
import { z } from 'zod';
import type { AgentMemory, AgentProblem } from '#shared/agent.ts';
import type { EngineView } from '../engines/adapters/engine-view.ts';
import { createTurns } from '../platform/async.ts';
import { type DualTime, dualTimeOf, sleep } from '../platform/clock.ts';
import { createStateFile } from '../platform/files.ts';
import type { Availability, OwnerMode } from './availability/availability.ts';
import type { AgentContext } from './context.ts';
import {
  controlOf,
  holds,
  holdsForLife,
  type ModelAction,
  type ReachableEngine,
  tellEngine,
  type TellResult,
} from './engines/tell-engine.ts';
import type { EngineWatch } from './engines/watch.ts';
import type { Inference } from './server/inference.ts';
import { OWN_COMMAND } from '../platform/process.ts';

/** What is being done with the memory of this machine's engines. In every state but `kept` it takes no requests. */
type MemoryState =
  /** The engines hold what they like. */
  | { readonly kind: 'kept' }
  | { readonly kind: 'freeing' | 'freed' }
  | { readonly kind: 'loading' | 'unloading'; readonly model: string };

/** A model that an engine held in memory; `engine` is its `baseUrl`. */
const heldModelSchema = z.object({ engine: z.string(), model: z.string() });
type HeldModel = Readonly<z.infer<typeof heldModelSchema>>;

type ModelChangeResult =
  | TellResult
  | {
      readonly kind: 'refused';
      readonly code: 'freed' | 'requests_running' | 'model_not_found';
      readonly message: string;
    };

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

interface MemoryParts {
  readonly engines: Pick<EngineWatch, 'reachable' | 'readNow' | 'looked'>;
  readonly availability: Pick<Availability, 'memoryGoal'>;
  readonly inference: Pick<Inference, 'inFlight' | 'lastEndedTicks' | 'endAll'>;
  readonly changed: () => void;
}

/** Has models loaded and unloaded as the owner, the owner's rules and the time want it: one thing at a time. */
export function createMemoryKeeper(context: AgentContext, parts: MemoryParts) {
  const { clock } = context;
  const { engines } = parts;
  const stopping = new AbortController();
  const takeTurn = createTurns();
  const work = createMemoryWork(context, parts, stopping.signal);
  /** What was seen of each engine, by its `baseUrl`. */
  let seen: ReadonlyMap<string, EngineActivity> = new Map();
  let waiting = 0;
  /** When an engine last refused to unload an idle model. */
  let refusedTicks = -Infinity;

  /** Does one piece of work. When none is left it looks again, because something else may be wanted by now. */
  async function inTurn<T>(piece: () => Promise<T>): Promise<T> {
    waiting += 1;
    try {
      return await takeTurn(piece);
    } finally {
      waiting -= 1;
      look();
    }
  }

  /**
   * The models that have been idle for as long as their owner wants, at engines that do not unload them by themselves and
   * that load them when they are asked for again.
   */
  function idleNow(): readonly ModelPlace[] {
    const { idleUnloadMin: limitMin } = context.config().agent;
    if (limitMin === null || work.isInUse()) return [];
    const nowTicks = clock.ticks();
    const isIdleSince = (ticks: number) => nowTicks - ticks >= limitMin * 60_000;
    const endedTicks = parts.inference.lastEndedTicks() ?? -Infinity;
    if (!isIdleSince(Math.max(refusedTicks, endedTicks))) return [];
    return engines.reachable().flatMap((engine) => {
      const { kind, baseUrl, loaded } = engine.view;
      if (controlOf(kind)?.leavesIdle !== true) return [];
      const { usedTicks = nowTicks, since } = seen.get(baseUrl) ?? {};
      if (!isIdleSince(usedTicks)) return [];
      return (loaded ?? [])
        .filter((model) => isIdleSince(since?.get(model)?.ticks ?? nowTicks))
        .map((model) => ({ engine, model }));
    });
  }

  async function unloadIdle(idle: readonly ModelPlace[]): Promise<void> {
    const result = await work.changeAt('unload', idle);
    if (result.kind === 'failed') refusedTicks = clock.ticks();
  }

  /** Starts what is wanted now; call it whenever that may have changed. */
  function look(): void {
    const now = dualTimeOf(clock);
    const views = engines.reachable().map(({ view }) => view);
    seen = new Map(views.map((view) => [view.baseUrl, seenNow(seen.get(view.baseUrl), view, now)]));
    if (waiting > 0 || stopping.signal.aborted) return;
    const { kind } = work.state();
    if (work.isFreeWanted()) {
      if (kind === 'kept') void inTurn(work.free);
    } else if (kind === 'freed') void inTurn(work.restore);
    else {
      const idle = idleNow();
      if (idle.length > 0) void inTurn(() => unloadIdle(idle));
    }
  }

  return {
    start() {
      work.start();
      look();
    },
    state: work.state,
    look,
    /** Unloads what has been loaded since the memory was freed; resolves once the memory is free. */
    freeNow: () => (work.isFreeWanted() ? inTurn(work.free) : Promise.resolve()),
    /** Resolves once nothing is being loaded or unloaded. */
    settled: () => takeTurn(() => Promise.resolve()),
    change: (action: ModelAction, model: string) => inTurn(() => work.change(action, model)),
    problems: work.problems,
    /** As its owner sees it. */
    view(): AgentMemory {
      const said = work.problems().map(({ happened, remedy }) => `${happened}. ${remedy}`);
      return {
        state: work.state().kind,
        toLoad: work.toLoad().map(({ model }) => model),
        problem: said.length === 0 ? null : said.join(' '),
      };
    },
    since: (engine: string, model: string) => seen.get(engine)?.since.get(model)?.wallMs ?? null,
    stop: () => stopping.abort(),
  };
}

const FILE = 'agent-memory.json';

/** The models that were unloaded to free the memory, so that they come back after a restart too. */
const fileSchema = z.object({ version: z.literal(1), toLoad: z.array(heldModelSchema) });

const POLL_MS = 100;
/** How long a change waits for running requests; new ones are answered elsewhere meanwhile. */
const CHANGE_WAIT_MS = 60_000;

/** Pieces of work on the memory; one runs at a time. None loads or unloads anything while a request runs. */
function createMemoryWork(context: AgentContext, parts: MemoryParts, signal: AbortSignal) {
  const { http, clock, log } = context;
  const { engines, availability, inference } = parts;
  let state: MemoryState = { kind: 'kept' };
  let problems: AgentProblem[] = [];
  /** What is loaded again before requests return. */
  let toLoad: readonly HeldModel[] = [];
  const path = join(context.dataDirectory, FILE);
  const file = createStateFile(path, () => ({ version: 1, toLoad }), context);

  const isFreeWanted = () => availability.memoryGoal().kind === 'freed';
  /** Looked for each time, because stopping such an engine frees its memory. */
  const holding = () => (isFreeWanted() ? engines.reachable().flatMap(cannotUnload) : []);
  const isInUse = () => inference.inFlight() > 0;

  function become(next: MemoryState): void {
    state = next;
    parts.changed();
  }

  /** Resolves once it is on disk. */
  function setToLoad(models: readonly HeldModel[]): Promise<void> {
    toLoad = models;
    file.changed();
    return file.flush();
  }

  /** Waits while `goesOn`, for `limitMs` at most; whether no request runs then. */
  async function isQuietWithin(limitMs: number, goesOn: () => boolean): Promise<boolean> {
    const deadline = clock.ticks() + limitMs;
    while (isInUse() && clock.ticks() < deadline && goesOn() && !signal.aborted)
      await sleep(clock, POLL_MS, signal);
    return !isInUse();
  }

  /** Has an engine load or unload a model, and logs what came of it. */
  async function tell(engine: ReachableEngine, action: ModelAction, model: string) {
    const { kind, baseUrl } = engine.view;
    const readAgain = async () => {
      await engines.readNow();
      return engines.reachable().find(({ view }) => view.baseUrl === baseUrl)?.view ?? null;
    };
    const told = await tellEngine(engine, { action, model }, { http, clock, signal, readAgain });
    const why = told.kind === 'failed' ? { why: told.happened } : {};
    log('info', 'model_memory', { action, model, engine: kind, result: told.kind, ...why });
    return told;
  }

  async function unloadAll(): Promise<void> {
    problems = [];
    for (const engine of engines.reachable()) {
      const { kind, baseUrl, loaded } = engine.view;
      for (const model of controlOf(kind) === null ? [] : (loaded ?? [])) {
        const told = await tell(engine, 'unload', model);
        if (told.kind === 'failed') problems.push(problemOf(`unloading ${model}`, told));
        else if (!toLoad.some((held) => held.engine === baseUrl && held.model === model))
          await setToLoad([...toLoad, { engine: baseUrl, model }]);
      }
    }
  }

  async function free(): Promise<void> {
    become({ kind: 'freeing' });
    await engines.looked();
    const goal = availability.memoryGoal();
    const graceMs = goal.kind === 'freed' ? goal.graceMs : 0;
    const isQuiet = await isQuietWithin(graceMs, isFreeWanted);
    if (signal.aborted) return;
    // The owner has changed the order; what was unloaded before is still to be loaded.
    if (!isFreeWanted()) return become({ kind: 'freed' });
    if (!isQuiet) inference.endAll();
    await engines.readNow();
    await unloadAll();
    // If the engine answers late when its models are wanted back, its last word must not be that it has them.
    await engines.readNow();
    become({ kind: 'freed' });
  }

  async function restore(): Promise<void> {
    problems = [];
    if (toLoad.length === 0) return become({ kind: 'kept' });
    await engines.looked();
    await engines.readNow();
    for (const { engine: baseUrl, model } of toLoad) {
      if (signal.aborted) return;
      // Freeing starts again, because some are loaded by now.
      if (isFreeWanted()) return become({ kind: 'kept' });
      const engine = engines.reachable().find(({ view }) => view.baseUrl === baseUrl);
      // Work that was stopped in the meantime loads nothing.
      if (engine === undefined || engine.view.health.status === 'unreachable') continue;
      if (holds(engine.view.loaded ?? [], model)) continue;
      become({ kind: 'loading', model });
      const told = await tell(engine, 'load', model);
      if (told.kind === 'failed') problems.push(problemOf(`loading ${model}`, told));
    }
    await setToLoad([]);
    become({ kind: 'kept' });
  }

  /** Changes all of them, while this machine takes no requests; the last failure, if there was one. */
  async function changeAt(
    action: ModelAction,
    places: readonly ModelPlace[],
  ): Promise<ModelChangeResult> {
    let result: ModelChangeResult = { kind: 'done' };
    for (const { engine, model } of places) {
      become({ kind: action === 'load' ? 'loading' : 'unloading', model });
      const isQuiet = await isQuietWithin(CHANGE_WAIT_MS, () => !isFreeWanted());
      const told = isQuiet ? await tell(engine, action, model) : null;
      become({ kind: 'kept' });
      if (told === null) return isFreeWanted() ? FREED : BUSY;
      if (told.kind === 'failed') result = told;
    }
    return result;
  }

  async function change(action: ModelAction, asked: string): Promise<ModelChangeResult> {
    if (state.kind !== 'kept' || isFreeWanted()) return FREED;
    await engines.readNow();
    const all = engines.reachable();
    const offered = all.flatMap(({ view }) => [...view.models, ...(view.loaded ?? [])]);
    if (!holds(offered, asked)) return notFound(asked, [...new Set(offered)]);
    problems = [];
    return changeAt(action, placesOf(all, action, asked));
  }

  return {
    start() {
      toLoad = fileSchema.safeParse(file.load()).data?.toLoad ?? [];
      if (toLoad.length > 0 && !isFreeWanted()) state = { kind: 'freed' };
    },
    isFreeWanted,
    isInUse,
    state: () => state,
    problems: () => [...holding(), ...problems],
    toLoad: () => toLoad,
    free,
    restore,
    changeAt,
    change,
  };
}

const FREED: ModelChangeResult = {
  kind: 'refused',
  code: 'freed',
  message: `The memory of this machine is freed. Run "${OWN_COMMAND} resume" first: it also loads the models that were loaded before.`,
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

/** What keeps an engine's memory taken whatever it is told; nothing if it does not run. */
function cannotUnload({ view }: ReachableEngine): readonly AgentProblem[] {
  const { kind, baseUrl, health } = view;
  if (controlOf(kind) !== null || health.status === 'unreachable') return [];
  return [problemOf(`unloading the model of ${baseUrl}`, holdsForLife(kind, baseUrl))];
}

function problemOf(
  tried: string,
  { happened, remedy }: Omit<Extract<TellResult, { readonly kind: 'failed' }>, 'kind'>,
): AgentProblem {
  const todo = remedy ?? 'Try again, or restart the engine.';
  return { tool: 'engine', tried, happened, remedy: todo };
}

/**
 * The engines at which a change has something to do: the first that offers the model, or all that hold it. None if the
 * model is loaded already, or unloaded.
 */
function placesOf(
  engines: readonly ReachableEngine[],
  action: ModelAction,
  asked: string,
): readonly ModelPlace[] {
  const held = engines.flatMap((engine) =>
    (engine.view.loaded ?? [])
      .filter((model) => holds([model], asked))
      .map((model) => ({ engine, model })),
  );
  if (action === 'unload') return held;
  const engine = engines.find(({ view }) => holds(view.models, asked));
  return held.length > 0 || engine === undefined ? [] : [{ engine, model: asked }];
}

interface ModelPlace {
  readonly engine: ReachableEngine;
  /** The model's name at that engine. */
  readonly model: string;
}

/** What this agent has seen of an engine, whichever program has used it. */
interface EngineActivity {
  /** Since when it holds each model. */
  readonly since: ReadonlyMap<string, DualTime>;
  readonly generatedTokens: number | null;
  /** When it last worked. */
  readonly usedTicks: number;
}

function seenNow(
  before: EngineActivity | undefined,
  { loaded, metrics }: EngineView,
  now: DualTime,
): EngineActivity {
  const generatedTokens = metrics?.generatedTokens ?? null;
  const isIdle = (metrics?.running ?? 0) === 0 && generatedTokens === before?.generatedTokens;
  return {
    since: new Map((loaded ?? []).map((model) => [model, before?.since.get(model) ?? now])),
    generatedTokens,
    usedTicks: before !== undefined && isIdle ? before.usedTicks : now.ticks,
  };
}
