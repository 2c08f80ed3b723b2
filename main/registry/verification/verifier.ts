import { dualTimeOf } from '../../platform/clock.ts';
import { nameOf } from '../../platform/errors.ts';
import type { Log } from '../../platform/log.ts';
import type { VerificationSubject, VerifierHost } from '../verifier-host.ts';
import type { VerifierNews } from '../verifier-port.ts';
import { runChecks, type RunEdges, type RunRequest } from './checks.ts';
import {
  planOf,
  remembered,
  type RunMemory,
  withEnd,
  withNews,
  withRouted,
  withStart,
} from './schedule.ts';
import { inferenceEnding, type RunEnding, settled, verdictOf } from './verdict.ts';

/** Verifies the providers of a registry when they are due. */
export type Verifier = ReturnType<typeof createVerifier>;

interface VerifierDeps extends RunEdges {
  readonly host: VerifierHost;
  readonly log: Log;
}

interface Run {
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

/** Concurrent runs, over all providers. */
const MAX_RUNS = 4;
/** When a machine that was silent or paused at its deadline is checked again. */
const RECHECK_MS = 30_000;
/** When a machine that another gateway is verifying is looked at again. */
const LEASED_MS = 5000;

/** Nothing runs before `start`. */
export function createVerifier(deps: VerifierDeps) {
  const { host, clock, log } = deps;
  const memories = new Map<string, RunMemory>();
  /** Cancel the timers of machines that are not due yet. */
  const timers = new Map<string, () => void>();
  /** Due machines, in the order of their turns. */
  let due = new Set<string>();
  const runs = new Map<string, Run>();
  let isStarted = false;

  function memoryOf({ id, verification }: VerificationSubject): RunMemory {
    const memory = memories.get(id) ?? remembered(verification, dualTimeOf(clock));
    memories.set(id, memory);
    return memory;
  }

  const planFor = (subject: VerificationSubject) =>
    planOf(subject.verification, memoryOf(subject), clock.ticks());

  function drop(id: string): void {
    timers.get(id)?.();
    timers.delete(id);
    due.delete(id);
  }

  function checkIn(id: string, ms: number): void {
    // One that is already due keeps its place.
    if (!isStarted || (ms <= 0 && due.has(id))) return;
    drop(id);
    const onDue = () => {
      due.add(id);
      fill();
    };
    timers.set(id, clock.after(ms, onDue));
  }

  /** Sets a machine's next turn; during a run, its end does this. */
  function arm(subject: VerificationSubject): void {
    const { id } = subject;
    if (runs.has(id) || !isStarted) return;
    if (memoryOf(subject).requested) {
      drop(id);
      due = new Set([id, ...due]);
      timers.set(id, clock.after(0, fill));
    } else checkIn(id, planFor(subject).dueInMs);
  }

  function fill(): void {
    for (const id of due) {
      if (!isStarted || runs.size >= MAX_RUNS) return;
      drop(id);
      if (!runs.has(id)) startIfDue(id);
    }
  }

  function startIfDue(id: string): void {
    const subject = host.subject(id);
    if (subject === null) return forget(id);
    if (!subject.isReachable) return checkIn(id, RECHECK_MS);
    // The plan may have changed since: requests were served, or a model was loaded.
    if (planFor(subject).dueInMs > 0) return arm(subject);
    const controller = new AbortController();
    runs.set(id, { controller, ended: run(id, controller) });
  }

  /** Only one gateway at a time verifies a machine. */
  async function run(id: string, controller: AbortController): Promise<void> {
    const { signal } = controller;
    const release = await host.lease(id);
    if (release !== null && !signal.aborted) await verifyIfDue(id, signal);
    release?.();
    runs.delete(id);
    const now = host.subject(id);
    if (now === null) forget(id);
    else if (release === null) checkIn(id, LEASED_MS);
    else arm(now);
    fill();
  }

  /** Makes a run, unless another gateway has verified the machine in the meantime. */
  async function verifyIfDue(id: string, signal: AbortSignal): Promise<void> {
    const subject = host.subject(id);
    if (subject === null) return;
    const { dueInMs, inference } = planFor(subject);
    if (dueInMs > 0) return;
    const { verification, materialChanges } = subject;
    const memory = memoryOf(subject);
    const firstInference =
      verification.state === 'pending' && memory.testedChanges !== materialChanges;
    memories.set(id, withStart(memory, clock.ticks()));
    const request = { subject, inference, signal };
    host.verifying(id, true);
    const ending = await verifyOnce(request, firstInference, deps).catch((error: unknown) => {
      log('error', 'verification_broken', { provider: id, error: nameOf(error) });
      return { ...AFTER_FAULT, materialChanges };
    });
    // Unless its result was stored, which has ended it.
    host.verifying(id, false);
    if (ending !== null) memories.set(id, withEnd(memoryOf(subject), ending, clock.ticks()));
  }

  function forget(id: string): void {
    memories.delete(id);
    drop(id);
    runs.get(id)?.controller.abort();
  }

  return {
    start(): void {
      isStarted = true;
      for (const subject of host.subjects()) arm(subject);
    },
    providerChanged(id: string, news: readonly VerifierNews[]): void {
      const subject = host.subject(id);
      if (subject === null) return;
      // What this gateway remembers is older.
      if (news.includes('verified')) memories.delete(id);
      // A run in progress already answers a request for one.
      const isAnswered = runs.has(id);
      const noted = news.filter((each) => each !== 'requested' || !isAnswered);
      memories.set(id, withNews(memoryOf(subject), noted));
      arm(subject);
    },
    removed: forget,
    /**
     * Reports the end of a request that was routed to a provider. An unexplained 4xx counts as failed: after three in a
     * row the machine is checked, so that one that refuses what others serve is not kept.
     */
    routed(id: string, result: 'served' | 'failed'): void {
      const memory = memories.get(id);
      if (memory !== undefined) memories.set(id, withRouted(memory, result, clock.ticks()));
      const subject = result === 'failed' ? host.subject(id) : null;
      if (subject !== null) arm(subject);
    },
    /** Aborts all runs; resolves once none is left. */
    async stop(): Promise<void> {
      isStarted = false;
      for (const cancel of timers.values()) cancel();
      for (const { controller } of runs.values()) controller.abort();
      await Promise.all([...runs.values()].map(({ ended }) => ended));
    },
  };
}

/** A run that broke off may have made its test inference. */
const AFTER_FAULT = {
  deferred: false,
  inference: 'failed',
  leftOut: false,
} as const;

/** Verifies a provider once and stores the result; null if it was aborted. */
async function verifyOnce(
  request: RunRequest,
  firstInference: boolean,
  deps: VerifierDeps,
): Promise<RunEnding | null> {
  const { host, clock, log } = deps;
  const { subject, inference } = request;
  const { id, materialChanges, verification } = subject;
  const startedTicks = clock.ticks();
  const findings = await runChecks(request, deps);
  if (findings === null) return null;
  const tested = inferenceEnding(findings);
  const outcome = verdictOf(findings, firstInference);
  const after = settled(verification, outcome, { findings, wallMs: clock.now() });
  const recorded = await host.verificationDone(id, materialChanges, after);
  log(recorded.kind === 'unwritten' ? 'warn' : 'info', 'verification_run', {
    provider: id,
    outcome: outcome.kind,
    state: after.state,
    inference,
    recorded: recorded.kind,
    ms: Math.round(clock.ticks() - startedTicks),
  });
  return {
    deferred: outcome.kind === 'not_ready',
    inference: tested,
    leftOut: inference === 'if_loaded' && tested === 'none' && outcome.kind === 'verified',
    materialChanges,
  };
}
