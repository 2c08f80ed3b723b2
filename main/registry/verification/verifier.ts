import type { Log } from '../../platform/log.ts';
import type { VerificationSubject, VerifierPort, VerifierHost } from '../verifier-port.ts';
import { runChecks, type RunEdges, type RunOrder } from './checks.ts';
import { createRunHistory } from './run-history.ts';
import { createTimerQueue } from './timer-queue.ts';
import { inferenceEnding, type RunEnding, settled, verdictOf } from './verdict.ts';

/** Verifies the providers of a registry, each when it is due. */
export interface Verifier extends VerifierPort {
  /** Begins with what is due. */
  start(): void;
  /** A request that was routed to a provider has ended; refusals that blame nobody do not count. */
  routed(id: string, result: 'served' | 'failed'): void;
  /** Ends all runs without a result; resolves once none is left. */
  stop(): Promise<void>;
}

/** What the verifier is given. */
interface VerifierDeps extends RunEdges {
  readonly host: VerifierHost;
  readonly log: Log;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Runs at once, over all providers (design 9). */
const MAX_RUNS = 4;
/** A machine whose turn has come while it was silent or paused is looked at again after this. */
const LOOK_AGAIN_MS = 30_000;

interface Run {
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

/** Makes the verifier; nothing runs before `start`. */
export function createVerifier(deps: VerifierDeps): Verifier {
  const { host, clock, log } = deps;
  const memories = createRunHistory(clock, deps.random);
  const agenda = createTimerQueue(clock, fill);
  const runs = new Map<string, Run>();

  /** Sets a provider's next turn; while a run of it is on, that is done at its end. */
  function arm(subject: VerificationSubject): void {
    if (runs.has(subject.id)) return;
    const { dueInMs } = memories.plan(subject);
    const isRequested = memories.isRequested(subject);
    agenda.set(subject.id, isRequested ? 'first' : clock.ticks() + dueInMs);
  }

  function fill(): void {
    while (runs.size < MAX_RUNS) {
      const id = agenda.next();
      if (id === null) return;
      if (!runs.has(id)) startIfDue(id);
    }
  }

  function startIfDue(id: string): void {
    const subject = host.subject(id);
    if (subject === null) return forget(id);
    if (!subject.isReachable) return agenda.set(id, clock.ticks() + LOOK_AGAIN_MS);
    // What was planned may be out of date: requests were served, a model was loaded.
    const { dueInMs, inference } = memories.plan(subject);
    if (dueInMs > 0) return agenda.set(id, clock.ticks() + dueInMs);
    const firstInference = memories.isFirst(subject);
    memories.begin(subject);
    const controller = new AbortController();
    const order = { subject, inference, firstInference, signal: controller.signal };
    runs.set(id, { controller, ended: run(order) });
  }

  async function run(order: Parameters<typeof verifyOnce>[0]): Promise<void> {
    const { subject } = order;
    const { id } = subject;
    // A run that breaks off may have made its test inference.
    let ending: RunEnding | null = { deferred: false, inference: 'failed', leftOut: false };
    try {
      ending = await verifyOnce(order, deps);
    } catch (error) {
      const name = error instanceof Error ? error.name : 'unknown';
      log('error', 'verification_broken', { provider: id, error: name });
      host.verifying(id, false);
    }
    runs.delete(id);
    const now = host.subject(id);
    if (now === null) return forget(id);
    if (ending !== null) memories.end(subject, ending);
    arm(now);
    fill();
  }

  function forget(id: string): void {
    memories.forget(id);
    agenda.remove(id);
    runs.get(id)?.controller.abort();
  }

  return {
    start() {
      for (const subject of host.subjects()) arm(subject);
      agenda.open();
    },
    providerChanged(id, news) {
      const subject = host.subject(id);
      if (subject === null) return;
      // A run that is under way is the one that was asked for.
      const requested = news.requested && !runs.has(id);
      memories.hear(subject, { ...news, requested });
      arm(subject);
    },
    removed: forget,
    routed(id, result) {
      memories.routed(id, result);
      const subject = result === 'failed' ? host.subject(id) : null;
      if (subject !== null) arm(subject);
    },
    async stop() {
      agenda.close();
      for (const { controller } of runs.values()) controller.abort();
      await Promise.all([...runs.values()].map(({ ended }) => ended));
    },
  };
}

/** A run, and whether a test inference was tried before it. */
interface VerificationOrder extends RunOrder {
  readonly firstInference: boolean;
}

/** Verifies a provider once and hands the result in; null when it was stopped. */
async function verifyOnce(
  order: VerificationOrder,
  edges: RunEdges & { readonly host: VerifierHost; readonly log: Log },
): Promise<RunEnding | null> {
  const { host, clock, log } = edges;
  const { subject, inference } = order;
  const { id, generation, verification }: VerificationSubject = subject;
  const startedTicks = clock.ticks();
  host.verifying(id, true);
  const findings = await runChecks(order, edges);
  if (findings === null) {
    host.verifying(id, false);
    return null;
  }
  const tested = inferenceEnding(findings);
  const outcome = verdictOf(findings, order.firstInference);
  const after = settled(verification, outcome, { findings, wallMs: clock.now() });
  const recorded = await host.verificationDone(id, generation, after);
  log(recorded.kind === 'unwritten' ? 'warn' : 'info', 'verification_run', {
    provider: id,
    outcome: outcome.kind,
    state: after.state,
    inference,
    recorded: recorded.kind,
    ms: Math.round(clock.ticks() - startedTicks),
  });
  return {
    deferred: outcome.kind === 'loading' || outcome.kind === 'busy',
    inference: tested,
    leftOut: inference === 'if_loaded' && tested === 'none' && outcome.kind === 'verified',
  };
}
