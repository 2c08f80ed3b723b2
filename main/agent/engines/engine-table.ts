import type { EngineView } from '../../engines/adapters/engine-view.ts';
import { type EngineAddress, shownLocation } from '../../engines/adapters/probe.ts';
import { answersWhileBusy, type DetectedEngine, type EngineLook } from '../../engines/detect.ts';
import { currentModel } from '../../engines/models.ts';
import type { ReachableEngine } from './tell-engine.ts';

/** An engine that has been gone this long is dropped, or, if it was served last, is not taken for what has its port. */
const FORGET_MS = 600_000;
/** Most models are loaded by then; what answers 503 for longer may do so for ever. */
const LOADING_MS = 60_000;

/** The known engines, and which of them is served. */
export function createEngineTable() {
  const known = new Map<string, KnownEngine>();
  let serving: string | null = null;
  let shown = '[null,[],false]';
  /** In clock ticks. */
  let changedAt = -Infinity;

  const all = () => [...known.values()].map(({ view }) => view);
  const served = () => [...known.values()].find(({ view }) => view.baseUrl === serving) ?? null;
  const isStuck = () => {
    const engine = served();
    return (
      engine !== null && engine.lateRounds >= STUCK_ROUNDS && answersWhileBusy(engine.view.kind)
    );
  };
  const rank = ({ view }: KnownEngine) => (view.baseUrl === serving ? 0 : 1);

  return {
    /** Whether an engine at one of them still answers; one that does not may be back at another of them. */
    answersAt: (addresses: readonly EngineAddress[]) =>
      addresses.some((address) => {
        const status = known.get(keyOf(address))?.view.health.status ?? 'unreachable';
        return status !== 'unreachable';
      }),
    /** Records a look; a pinned engine is known even before it is found. */
    note(address: EngineAddress, look: EngineLook, isPinned: boolean, ticks: number) {
      const key = keyOf(address);
      const before = known.get(key) ?? (isPinned ? unseen(address) : null);
      if (look.kind === 'found') known.set(key, found(address, look.found, before));
      else if (before !== null) known.set(key, missed(before, look, ticks));
    },
    /** The one that was served last stays: without it, this machine would count as one that is not set up. */
    forgetGone(ticks: number) {
      for (const [key, { goneAt, view }] of known)
        if (goneAt !== null && ticks - goneAt >= FORGET_MS && view.baseUrl !== serving)
          known.delete(key);
    },
    clear: () => known.clear(),
    /** Chooses the engine to serve; returns whether anything but the counters has changed. */
    settle(ticks: number) {
      serving = chosen(all(), serving)?.baseUrl ?? null;
      const views = all().map((view) => ({ ...view, metrics: null }));
      const now = JSON.stringify([serving, views, isStuck()]);
      if (now === shown) return false;
      shown = now;
      changedAt = ticks;
      return true;
    },
    served,
    /** The served engine has begun to load, or was late in the last round and may be stuck: what it is will show soon. */
    isDoubtful(ticks: number) {
      const engine = served();
      if (engine === null) return false;
      const { lateRounds, view } = engine;
      const isLoading = view.health.status === 'loading' && ticks - changedAt < LOADING_MS;
      return isLoading || (lateRounds > 0 && lateRounds < STUCK_ROUNDS);
    },
    /** The served engine is of a kind that answers while it computes, but has not for `STUCK_ROUNDS`. */
    isStuck,
    /** All known engines, the served one first. */
    reachable: (): readonly ReachableEngine[] =>
      [...known.values()].toSorted((a, b) => rank(a) - rank(b)),
  };
}

function keyOf({ origin, basePath }: EngineAddress): string {
  return origin + basePath;
}

/** Includes what the next reading is compared with. */
interface KnownEngine extends ReachableEngine {
  /** Consecutive rounds in which it was too slow to answer. */
  readonly lateRounds: number;
  /** Clock ticks; null while it answers. */
  readonly goneAt: number | null;
}

function unseen(address: EngineAddress): KnownEngine {
  const view: EngineView = {
    kind: 'other',
    baseUrl: keyOf(address),
    health: { status: 'unreachable', code: 0 },
    models: [],
    loaded: null,
    currentModel: null,
    facts: [],
    engineModel: null,
    metrics: null,
  };
  return { address, view, lateRounds: 0, goneAt: null };
}

/** A busy engine may take longer than a second; after this many late rounds it gets no more requests. */
const LATE_ROUNDS = 3;
/** After this many, of one second each, its unanswered requests are aborted. */
const STUCK_ROUNDS = 10;

export function found(
  address: EngineAddress,
  { kind, apiPath, detail: { location: at, ...read } }: DetectedEngine,
  before: KnownEngine | null,
): KnownEngine {
  const former = before?.view.kind === kind ? before : null;
  const location = at === null ? null : shownLocation(at);
  const view: EngineView = {
    ...read,
    kind,
    baseUrl: address.origin + address.basePath + apiPath,
    currentModel: currentModel(read.facts, read.loaded),
    engineModel: location ?? former?.view.engineModel ?? null,
  };
  return { address, view, lateRounds: 0, goneAt: null };
}

/** An engine that was not recognised in this round keeps what is known about it. */
function missed(
  known: KnownEngine,
  look: Exclude<EngineLook, { kind: 'found' }>,
  now: number,
): KnownEngine {
  const { view } = known;
  const goneAt = known.goneAt ?? now;
  const isReplaced =
    look.kind === 'stranger' && look.detail.health.status === 'ok' && now - goneAt >= FORGET_MS;
  if (look.kind === 'stranger' && !isReplaced)
    return { ...known, goneAt, view: { ...view, health: look.detail.health } };
  const isLate = look.kind === 'silent' && look.isLate;
  const lateRounds = isLate ? known.lateRounds + 1 : 0;
  if (isLate && lateRounds < LATE_ROUNDS) return { ...known, lateRounds };
  const health = { status: isLate ? 'unresponsive' : 'unreachable', code: 0 } as const;
  const facts = view.facts.map((model) => ({ ...model, loaded: false }));
  const still = { ...view, health, loaded: [], currentModel: null, facts, metrics: null };
  return { ...known, lateRounds, goneAt, view: still };
}

/** The engine to serve: one that can answer, preferably with a model in memory. On a tie the former stays. */
export function chosen(views: readonly EngineView[], former: string | null): EngineView | null {
  const score = (view: EngineView) => 2 * worth(view) + (view.baseUrl === former ? 1 : 0);
  return views.toSorted((a, b) => score(b) - score(a))[0] ?? null;
}

function worth({ health, models, loaded }: EngineView): number {
  if (health.status === 'loading') return 1;
  if (health.status !== 'ok') return 0;
  if (models.length === 0) return 2;
  return loaded !== null && loaded.length > 0 ? 4 : 3;
}
