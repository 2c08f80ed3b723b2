import type { AgentProblem } from '#shared/agent.ts';
import { createTurns } from '../../platform/async.ts';
import type { HeldModel, MemoryHolder, MemoryState } from './memory-state.ts';
import { createMemoryWork, type MemoryDeps } from './memory-work.ts';
import { createResidency, idleModels } from './residency.ts';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { createStateFile } from '../../platform/state-file.ts';

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
  const file = createMemoryFile(deps.dataDirectory, () => toLoad, deps);

  const held: MemoryHolder = {
    state: () => state,
    become(next) {
      state = next;
      changed();
    },
    toLoad: () => toLoad,
    setToLoad(models) {
      toLoad = models;
      return file.save();
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
    const rule = { limitMs, nowTicks: clock.ticks(), lastEndedTicks: deps.lastEndedTicks() };
    return idleModels(engines.reachable(), residency, rule);
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
    if (idle.length > 0) void inTurn(() => work.unloadIdle(idle));
  }

  return {
    start() {
      toLoad = file.load();
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
    /** The models that are loaded before requests return. */
    toLoad: () => toLoad,
    since: (engine: string, model: string) => residency.since(engine, model)?.wallMs ?? null,
    stop: () => stopping.abort(),
  };
}

const FILE = 'agent-memory.json';

const fileSchema = z.object({
  version: z.literal(1),
  toLoad: z.array(z.object({ engine: z.string(), model: z.string() })),
});

/** The models that were unloaded to free the memory, so that they come back after a restart too. */
function createMemoryFile(
  directory: string,
  toLoad: () => readonly HeldModel[],
  edges: { readonly clock: Clock; readonly log: Log },
) {
  const file = createStateFile(
    join(directory, FILE),
    () => ({ version: 1, toLoad: toLoad() }),
    edges,
  );
  return {
    load: (): readonly HeldModel[] => fileSchema.safeParse(file.load()).data?.toLoad ?? [],
    /** Resolves once they are on disk, or the write has failed and that is logged. */
    save() {
      file.changed();
      return file.flush();
    },
  };
}
