import type { DualTime } from '../../platform/clock.ts';
import type { StoredVerification } from '../store/store.ts';
import type { VerifierNews } from '../verifier-port.ts';
import type { InferencePlan } from './checks.ts';
import type { RunEnding } from './verdict.ts';

/** What this process remembers of a provider's runs, and of how the last one ended; times are clock ticks. */
export interface RunMemory extends Omit<RunEnding, 'inference' | 'materialChanges'> {
  readonly startedTicks: number | null;
  readonly finishedTicks: number | null;
  /** When a test inference or a routed request last showed that the engine answers. */
  readonly provenTicks: number | null;
  /** When the last run that made, or may have made, a test inference began. */
  readonly testedTicks: number | null;
  /** The provider's material changes before that run; null before the first of this process. */
  readonly testedChanges: number | null;
  /** Something has changed since the last run started. */
  readonly pulled: boolean;
  /** The owner has requested a run. */
  readonly requested: boolean;
  /** The last request since the last run began has failed. */
  readonly hasFailedRequest: boolean;
}

const LIGHT_MS = 300_000;
const INFERENCE_MS = 1_800_000;
/** Pauses after the first consecutive failed run, the second and so on. */
const RETRY_MS = [30_000, 60_000, 120_000, 300_000, 600_000] as const;
const RETRY_LONGEST_MS = 1_800_000;
/** To spare the GPU, a change brings a test inference forward at most once in this time. */
const PULL_MS = 60_000;
/** The same after a run without one, which costs next to nothing. */
const PULL_UNTESTED_MS = 15_000;
/** The same of a machine that may not be used yet, and may wait for just that change. */
const PULL_UNUSABLE_MS = 1000;
/** A machine that may not be used yet is checked more often than one that keeps its place. */
const DEFERRED_MS = 15_000;

/** When the next run is due, which is never negative, and whether it includes a test inference. */
export function planOf(
  verification: StoredVerification,
  memory: RunMemory,
  nowTicks: number,
): { readonly dueInMs: number; readonly inference: InferencePlan } {
  if (memory.requested) return { dueInMs: 0, inference: 'run' };
  const dueTicks = Math.min(
    regularTicks(verification, memory),
    memory.pulled || memory.hasFailedRequest ? pulledTicks(verification, memory) : Infinity,
  );
  return {
    dueInMs: Math.max(0, dueTicks - nowTicks),
    inference: inferenceAt(nowTicks, verification, memory),
  };
}

/** A periodic test may be skipped; one that has to establish a result may not. */
function inferenceAt(
  nowTicks: number,
  { state, failedRuns, address }: StoredVerification,
  memory: RunMemory,
): InferencePlan {
  // A loading machine without an address may not be used, so its next test is urgent.
  const isUrgent = memory.deferred && address === null;
  if (state === 'pending' && !isUrgent && nowTicks < nextTestTicks(memory)) return 'spare';
  const isProven = state === 'verified' && failedRuns === 0;
  if (!isProven || memory.hasFailedRequest) return 'run';
  return inferenceTicks(memory) <= nowTicks ? 'if_loaded' : 'carry';
}

/** When a run is due without any change. */
function regularTicks({ state, failedRuns }: StoredVerification, memory: RunMemory): number {
  const { finishedTicks, deferred, leftOut } = memory;
  if (finishedTicks === null) return -Infinity;
  if (state === 'pending') {
    const againTicks = finishedTicks + DEFERRED_MS;
    return deferred ? againTicks : Math.max(againTicks, nextTestTicks(memory));
  }
  if (failedRuns > 0) return finishedTicks + (RETRY_MS[failedRuns - 1] ?? RETRY_LONGEST_MS);
  // A failed machine has at least one failed run, so this one is verified.
  const lightTicks = finishedTicks + LIGHT_MS;
  if (leftOut) return lightTicks;
  return Math.min(lightTicks, Math.max(inferenceTicks(memory), finishedTicks + PULL_MS));
}

function inferenceTicks({ provenTicks }: RunMemory): number {
  return (provenTicks ?? -Infinity) + INFERENCE_MS;
}

/** Until then a `pending` machine is checked without a test inference. */
function nextTestTicks({ testedTicks }: RunMemory): number {
  return testedTicks === null ? -Infinity : testedTicks + PULL_MS;
}

/** The time to which a change brings a run forward. */
function pulledTicks({ state }: StoredVerification, memory: RunMemory): number {
  const { startedTicks, testedTicks } = memory;
  if (startedTicks === null) return -Infinity;
  if (testedTicks !== startedTicks)
    return startedTicks + (state === 'verified' ? PULL_UNTESTED_MS : PULL_UNUSABLE_MS);
  // The next run of a `pending` machine makes no test inference until one is due.
  return startedTicks + (state === 'pending' ? DEFERRED_MS : PULL_MS);
}

/** The memory of a new process, from stored wall-clock times, which may be in the future. */
export function remembered(
  { lastCheckAt, lastInferenceAt }: StoredVerification,
  now: DualTime,
): RunMemory {
  const ticksOf = (wallMs: number | null) =>
    wallMs === null ? null : now.ticks - Math.max(0, now.wallMs - wallMs);
  return {
    startedTicks: null,
    finishedTicks: ticksOf(lastCheckAt),
    provenTicks: ticksOf(lastInferenceAt),
    deferred: false,
    leftOut: false,
    testedTicks: ticksOf(lastCheckAt),
    testedChanges: null,
    pulled: false,
    requested: false,
    hasFailedRequest: false,
  };
}

/** News that bring no run forward by themselves. */
const UNPULLING: ReadonlySet<VerifierNews> = new Set(['emptied', 'requested', 'verified']);

export function withNews(memory: RunMemory, news: readonly VerifierNews[]): RunMemory {
  return {
    ...memory,
    pulled: memory.pulled || news.some((each) => !UNPULLING.has(each)),
    requested: memory.requested || news.includes('requested'),
  };
}

export function withRouted(
  memory: RunMemory,
  result: 'served' | 'failed',
  nowTicks: number,
): RunMemory {
  return result === 'served'
    ? { ...memory, hasFailedRequest: false, provenTicks: nowTicks }
    : { ...memory, hasFailedRequest: true };
}

/** Clears the reasons for which the run was started. */
export function withStart(memory: RunMemory, nowTicks: number): RunMemory {
  return {
    ...memory,
    startedTicks: nowTicks,
    pulled: false,
    requested: false,
    hasFailedRequest: false,
  };
}

export function withEnd(
  memory: RunMemory,
  { inference, materialChanges, ...ending }: RunEnding,
  nowTicks: number,
): RunMemory {
  const tested = { testedTicks: memory.startedTicks, testedChanges: materialChanges };
  return {
    ...memory,
    ...ending,
    finishedTicks: nowTicks,
    ...(inference === 'none' ? {} : tested),
    provenTicks: inference === 'passed' ? nowTicks : memory.provenTicks,
  };
}
