import { createHmac, type KeyObject } from 'node:crypto';
import type { ModelFacts } from '#shared/models.ts';
import type { AgentRecord, ProviderStatus, VerificationState } from '#shared/provider.ts';
import { parsePublicKey } from '../platform/agent-identity.ts';
import type { Clock } from '../platform/clock.ts';
import { clamped } from './change-detection.ts';
import { silenceAfterAbsence, STALE_MS, statusAt } from './staleness.ts';
import type { StoredProvider } from './store/store.ts';

/** A provider in memory: its stored part, and the state that exists only while the registry runs. */
export interface TableEntry {
  readonly id: string;
  stored: StoredProvider;
  /** Null if the stored key is malformed; then no signature is valid, and nothing is verified. */
  readonly key: KeyObject | null;
  /** Sent to the agent as `X-Gateway-Token`. */
  gatewayToken: string;
  /** The record with its claims clamped; null before the first heartbeat. */
  shown: AgentRecord | null;
  /** Clock ticks of the last heartbeat. */
  lastHeartbeatTicks: number;
  isVerifying: boolean;
  isOwn: boolean;
  /** A heartbeat has reported a GPU; one that fails later does not make the machine one without GPU. */
  hasHadGpu: boolean;
  /** Enrolments after the first, and changes after which it must be verified again. */
  materialChanges: number;
  /** A heartbeat that needs a new verification could not be written to a store that other gateways share. */
  isChangeUnwritten: boolean;
  /** The last status in the history; null before the first. */
  notedStatus: ProviderStatus | null;
}

export function entryOf(
  stored: StoredProvider,
  lastHeartbeatTicks: number,
  gatewaySecret: string,
): TableEntry {
  return {
    id: stored.id,
    stored,
    key: parsePublicKey(stored.publicKey),
    gatewayToken: gatewayTokenOf(gatewaySecret, stored),
    shown: stored.record === null ? null : clamped(stored.record),
    lastHeartbeatTicks,
    isVerifying: false,
    isOwn: false,
    hasHadGpu: (stored.record?.gpu.count ?? 0) > 0,
    materialChanges: 0,
    isChangeUnwritten: false,
    notedStatus: null,
  };
}

/** The bearer token for one agent, which cannot be derived from the database alone. */
export function gatewayTokenOf(
  gatewaySecret: string,
  { id, tokenSalt }: Pick<StoredProvider, 'id' | 'tokenSalt'>,
): string {
  return createHmac('sha256', gatewaySecret)
    .update(id + tokenSalt)
    .digest('hex');
}

/** A verified machine stays `verified` while it is checked again. */
export function verificationStateOf({ stored, isVerifying }: TableEntry): VerificationState {
  const { state } = stored.verification;
  return isVerifying && state !== 'verified' ? 'verifying' : state;
}

/**
 * The agent of this process exists by default: nobody has added it. Without a GPU it can never be verified, so it is
 * neither listed nor counted.
 */
export function isUnlisted({ shown, isOwn, hasHadGpu }: TableEntry): boolean {
  return isOwn && shown !== null && !hasHadGpu;
}

/** All providers in memory, in the order of enrolment, and how long each has been silent. */
export type ProviderTable = ReturnType<typeof createProviderTable>;

/** The registry reads the clock more often than this; a longer gap means that this computer was asleep. */
const ABSENCE_MS = 20_000;

interface TableDeps {
  /** Whether a request has been answered there, in this run or an earlier one. */
  readonly hasServed: (id: string) => boolean;
  /** Called with the id of each provider that changes. */
  readonly changed: (id: string) => void;
}

export function createProviderTable(
  clock: Clock,
  known: readonly TableEntry[],
  { hasServed, changed }: TableDeps,
) {
  const entries = new Map(known.map((entry) => [entry.id, entry]));
  let revision = 0;
  let awakeTicks = clock.ticks();
  let chosen: ReturnType<typeof freshTargets> | null = null;

  /**
   * The current ticks. Time in which this computer was suspended or the process was blocked does not count as silence.
   */
  function now(): number {
    const ticks = clock.ticks();
    const absentMs = ticks - awakeTicks;
    if (absentMs > ABSENCE_MS) {
      for (const entry of entries.values()) {
        entry.lastHeartbeatTicks =
          ticks - silenceAfterAbsence(awakeTicks - entry.lastHeartbeatTicks);
      }
      chosen = null;
    }
    awakeTicks = ticks;
    return ticks;
  }

  const silentMs = (entry: TableEntry) => now() - entry.lastHeartbeatTicks;

  function advance(id: string): void {
    revision += 1;
    chosen = null;
    changed(id);
  }

  return {
    get: (id: string): TableEntry | undefined => entries.get(id),
    all: (): Iterable<TableEntry> => entries.values(),
    isEmpty: (): boolean => entries.size === 0,
    add(entry: TableEntry): void {
      entries.set(entry.id, entry);
      advance(entry.id);
    },
    remove(id: string): void {
      entries.delete(id);
      advance(id);
    },
    /** Must be called after each change of an entry. */
    touch: (entry: TableEntry): void => advance(entry.id),
    /** Notes a heartbeat; returns whether the machine is back, after it had counted as silent. */
    noteHeartbeat(entry: TableEntry, record: AgentRecord): boolean {
      entry.shown = clamped(record);
      entry.hasHadGpu ||= record.gpu.count > 0;
      const ticks = now();
      const wasStale = ticks - entry.lastHeartbeatTicks >= STALE_MS;
      if (wasStale) chosen = null;
      entry.lastHeartbeatTicks = ticks;
      return wasStale;
    },
    silentMs,
    /**
     * The agent of this process is expected to serve only if it has a model, or an engine that answers, even if only to
     * request a key; or if it has served before, whatever has become of its engine.
     */
    isExpected(entry: TableEntry): boolean {
      const { id, shown, isOwn } = entry;
      if (!isOwn) return true;
      if (shown === null || isUnlisted(entry)) return false;
      return shown.models.length > 0 || shown.engine_health.code !== 0 || hasServed(id);
    },
    /** Visits all entries with one reading of the clock, which is cheaper than one per entry. */
    survey(visit: (entry: TableEntry, silentMs: number) => void): void {
      const ticks = now();
      for (const entry of entries.values()) visit(entry, ticks - entry.lastHeartbeatTicks);
    },
    /** Null before the first heartbeat. */
    status: (entry: TableEntry): ProviderStatus | null =>
      entry.shown === null ? null : statusAt(entry.shown.status, silentMs(entry)),
    /** The machines that routing may choose now; the same array until one of them changes. */
    targets(): readonly Target[] {
      const ticks = now();
      if (chosen === null || ticks >= chosen.untilTicks)
        chosen = freshTargets(entries.values(), ticks);
      return chosen.targets;
    },
    /** Rises with each change. */
    revision: (): number => revision,
  };
}

/** Until `untilTicks` none of the targets has been silent for too long. */
function freshTargets(entries: Iterable<TableEntry>, ticks: number) {
  const targets: Target[] = [];
  let untilTicks = Infinity;
  for (const entry of entries) {
    const staleTicks = entry.lastHeartbeatTicks + STALE_MS;
    const target = staleTicks <= ticks ? null : targetOf(entry);
    if (target === null) continue;
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
  /** Its models in the order of preference; null from an older agent. */
  readonly facts: readonly ModelFacts[] | null;
  /** Identifies its engine (`owned_by` of its model); null while unknown. */
  readonly ownedBy: string | null;
}

/** How routing would reach the machine, if it has reported recently; null if it must not be used. */
function targetOf({ id, stored, shown, gatewayToken }: TableEntry): Target | null {
  const { state, address, ownedBy = null } = stored.verification;
  if (state === 'failed' || address === null || shown === null) return null;
  if (shown.status !== 'serving' && shown.status !== 'idle') return null;
  const { models, current_model: currentModel, model_facts: facts = null } = shown;
  return { id, address, gatewayToken, models, currentModel, facts, ownedBy };
}
