import { nameOf } from '../../platform/errors.ts';
import type { Log } from '../../platform/log.ts';
import type { VerificationSubject, VerifierPort, VerifierHost } from '../verifier-port.ts';
import { runChecks, type RunEdges, type RunOrder } from './checks.ts';
import { createRunHistory } from './run-history.ts';
import { createTimerQueue } from './timer-queue.ts';
import { inferenceEnding, type RunEnding, settled, verdictOf } from './verdict.ts';

/** Verifies the providers of a registry when they are due. */
export interface Verifier extends VerifierPort {
  start(): void;
  /**
   * Reports the end of a request that was routed to a provider. An unexplained 4xx counts as failed: three in a row
   * have the machine asked, so that one that refuses what others serve does not stay.
   */
  routed(id: string, result: 'served' | 'failed'): void;
  /** Aborts all runs; resolves once none is left. */
  stop(): Promise<void>;
}

interface VerifierDeps extends RunEdges {
  readonly host: VerifierHost;
  readonly log: Log;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Concurrent runs, over all providers. */
const MAX_RUNS = 4;
/** When a machine is looked at again that was silent or paused at its deadline. */
const LOOK_AGAIN_MS = 30_000;

interface Run {
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

/** Nothing runs before `start`. */
export function createVerifier(deps: VerifierDeps): Verifier {
  const { host, clock, log } = deps;
  const history = createRunHistory(clock, deps.random);
  const queue = createTimerQueue(clock, fill);
  const runs = new Map<string, Run>();

  /** Sets a provider's next deadline; during a run this is left to its end. */
  function arm(subject: VerificationSubject): void {
    if (runs.has(subject.id)) return;
    const { dueInMs } = history.plan(subject);
    const isRequested = history.isRequested(subject);
    queue.set(subject.id, isRequested ? 'first' : clock.ticks() + dueInMs);
  }

  function fill(): void {
    while (runs.size < MAX_RUNS) {
      const id = queue.next();
      if (id === null) return;
      if (!runs.has(id)) startIfDue(id);
    }
  }

  function startIfDue(id: string): void {
    const subject = host.subject(id);
    if (subject === null) return forget(id);
    if (!subject.isReachable) return queue.set(id, clock.ticks() + LOOK_AGAIN_MS);
    // The plan may be out of date: requests were served, or a model was loaded.
    const { dueInMs, inference } = history.plan(subject);
    if (dueInMs > 0) return queue.set(id, clock.ticks() + dueInMs);
    const firstInference = history.isFirst(subject);
    history.begin(subject);
    const controller = new AbortController();
    const order = { subject, inference, firstInference, signal: controller.signal };
    runs.set(id, { controller, ended: run(order) });
  }

  async function run(order: Parameters<typeof verifyOnce>[0]): Promise<void> {
    const { subject } = order;
    const { id } = subject;
    // A run that broke off may have made its test inference.
    let ending: RunEnding | null = { deferred: false, inference: 'failed', leftOut: false };
    try {
      ending = await verifyOnce(order, deps);
    } catch (error) {
      log('error', 'verification_broken', { provider: id, error: nameOf(error) });
      host.verifying(id, false);
    }
    runs.delete(id);
    const now = host.subject(id);
    if (now === null) return forget(id);
    if (ending !== null) history.end(subject, ending);
    arm(now);
    fill();
  }

  function forget(id: string): void {
    history.forget(id);
    queue.remove(id);
    runs.get(id)?.controller.abort();
  }

  return {
    start() {
      for (const subject of host.subjects()) arm(subject);
      queue.open();
    },
    providerChanged(id, news) {
      const subject = host.subject(id);
      if (subject === null) return;
      // A run in progress already answers a request for one.
      const requested = news.requested && !runs.has(id);
      history.noteNews(subject, { ...news, requested });
      arm(subject);
    },
    removed: forget,
    routed(id, result) {
      history.routed(id, result);
      const subject = result === 'failed' ? host.subject(id) : null;
      if (subject !== null) arm(subject);
    },
    async stop() {
      queue.close();
      for (const { controller } of runs.values()) controller.abort();
      await Promise.all([...runs.values()].map(({ ended }) => ended));
    },
  };
}

interface VerificationOrder extends RunOrder {
  readonly firstInference: boolean;
}

/** Verifies a provider once and stores the result; null when it was aborted. */
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
