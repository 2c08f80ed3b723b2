import type { ProviderStatus } from '#shared/provider.ts';
import type { Clock } from '../platform/clock.ts';
import { silenceAfterAbsence, STALE_MS, statusAt } from './liveness.ts';
import type { Entry } from './provider-entry.ts';

/** Every provider in memory, in the order of enrolment, and how long each was silent. */
export interface ProviderTable {
  get(id: string): Entry | undefined;
  all(): Iterable<Entry>;
  isEmpty(): boolean;
  add(entry: Entry): void;
  remove(id: string): void;
  /** Something of an entry has changed. */
  touch(entry: Entry): void;
  /** A heartbeat has come just now; true when the machine had been given up. */
  heard(entry: Entry): boolean;
  silentMs(entry: Entry): number;
  /** Looks at all of them at one moment, which costs less than a look at the clock for each. */
  survey(visit: (entry: Entry, silentMs: number) => void): void;
  /** Null before the first heartbeat. */
  status(entry: Entry): ProviderStatus | null;
  /** Whom routing may choose now; the same array for as long as nothing changes for it. */
  targets(): readonly Target[];
  /** Rises with each change. */
  revision(): number;
}

/** The registry looks at the clock more often than this; longer, and it was itself asleep. */
const ABSENCE_MS = 20_000;

/** Makes an empty roster; `changed` hears the id of whatever changes. */
export function createProviderTable(clock: Clock, changed: (id: string) => void): ProviderTable {
  const entries = new Map<string, Entry>();
  const targetsById = new Map<string, Target>();
  let revision = 0;
  let awakeTicks = clock.ticks();
  let targets: readonly Target[] | null = null;
  let targetsUntil = 0;

  /** The ticks now; a suspended computer or a blocked process is nobody's silence (design 8). */
  function now(): number {
    const ticks = clock.ticks();
    const absentMs = ticks - awakeTicks;
    if (absentMs > ABSENCE_MS) {
      for (const entry of entries.values()) {
        entry.heardTicks = ticks - silenceAfterAbsence(awakeTicks - entry.heardTicks);
      }
      targets = null;
    }
    awakeTicks = ticks;
    return ticks;
  }

  const silentMs = (entry: Entry) => now() - entry.heardTicks;

  function advance(id: string): void {
    revision += 1;
    changed(id);
  }

  function retarget(entry: Entry): void {
    const [before, after] = [targetsById.get(entry.id) ?? null, targetOf(entry)];
    if (sameTarget(before, after)) return;
    if (after === null) targetsById.delete(entry.id);
    else targetsById.set(entry.id, after);
    targets = null;
  }

  function touch(entry: Entry): void {
    entry.version = revision + 1;
    retarget(entry);
    advance(entry.id);
  }

  return {
    get: (id) => entries.get(id),
    all: () => entries.values(),
    isEmpty: () => entries.size === 0,
    add(entry) {
      entries.set(entry.id, entry);
      touch(entry);
    },
    remove(id) {
      entries.delete(id);
      if (targetsById.delete(id)) targets = null;
      advance(id);
    },
    touch,
    heard(entry) {
      const ticks = now();
      const wasGivenUp = ticks - entry.heardTicks >= STALE_MS;
      if (wasGivenUp) targets = null;
      entry.heardTicks = ticks;
      return wasGivenUp;
    },
    silentMs,
    survey(visit) {
      const ticks = now();
      for (const entry of entries.values()) visit(entry, ticks - entry.heardTicks);
    },
    status: (entry) =>
      entry.shown === null ? null : statusAt(entry.shown.status, silentMs(entry)),
    targets() {
      const ticks = now();
      if (targets === null || ticks >= targetsUntil) {
        ({ targets, untilTicks: targetsUntil } = freshTargets(targetsById, entries, ticks));
      }
      return targets;
    },
    revision: () => revision,
  };
}

/** Those of the targets that were heard lately, and when the next of them is no longer. */
function freshTargets(
  targetsById: ReadonlyMap<string, Target>,
  entries: ReadonlyMap<string, Entry>,
  ticks: number,
): { readonly targets: readonly Target[]; readonly untilTicks: number } {
  const targets: Target[] = [];
  let untilTicks = Infinity;
  for (const [id, target] of targetsById) {
    const staleTicks = (entries.get(id)?.heardTicks ?? -Infinity) + STALE_MS;
    if (staleTicks <= ticks) continue;
    untilTicks = Math.min(untilTicks, staleTicks);
    targets.push(target);
  }
  return { targets, untilTicks };
}

/** A machine that routing may choose. */
export interface Target {
  readonly id: string;
  /** As in `http://192.168.1.20:3001`. */
  readonly address: string;
  readonly gatewayToken: string;
  readonly models: readonly string[];
  readonly currentModel: string | null;
  /** By which its engine gives itself away; null while unknown. */
  readonly ownedBy: string | null;
}

/** The machine as routing would reach it if it was heard lately; null when it is not to be used. */
function targetOf({ id, stored, shown, gatewayToken }: Entry): Target | null {
  const { state, address, ownedBy = null } = stored.verification;
  if (state !== 'verified' || address === null || shown === null) return null;
  if (shown.status !== 'serving' && shown.status !== 'idle') return null;
  const { models, current_model: currentModel } = shown;
  return { id, address, gatewayToken, models, currentModel, ownedBy };
}

/** Whether routing would notice a difference. */
function sameTarget(a: Target | null, b: Target | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.address === b.address &&
    a.gatewayToken === b.gatewayToken &&
    a.currentModel === b.currentModel &&
    a.ownedBy === b.ownedBy &&
    a.models.length === b.models.length &&
    a.models.every((model, index) => model === b.models[index])
  );
}
