import { nameOf } from '../../platform/errors.ts';
import type { Log } from '../../platform/log.ts';
import type {
  VerificationTurn,
  VerificationSubject,
  VerifierPort,
  VerifierHost,
} from '../verifier-port.ts';
import { runChecks, type RunEdges, type RunRequest } from './checks.ts';
import { createRunHistory, type RunHistory } from './schedule.ts';
import { inferenceEnding, type RunEnding, settled, verdictOf } from './verdict.ts';
import type { Clock } from '../../platform/clock.ts';

/** Verifies the providers of a registry when they are due. */
export interface Verifier extends VerifierPort {
  start(): void;
  /**
   * Reports the end of a request that was routed to a provider. An unexplained 4xx counts as failed: after three in a
   * row the machine is checked, so that one that refuses what others serve is not kept.
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
/** When a machine that was silent or paused at its deadline is checked again. */
const RECHECK_MS = 30_000;
/**
 * How long a gateway of a pool leaves a machine to the others: the one that receives its heartbeats, or one that is
 * verifying it.
 */
const OTHERS_FIRST_MS = 2000;

interface Run {
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

/** Nothing runs before `start`. */
export function createVerifier(deps: VerifierDeps): Verifier {
  const { host, clock } = deps;
  const history = createRunHistory(clock, deps.random);
  const queue = createTimerQueue(clock, fill);
  const runs = new Map<string, Run>();

  /** Sets a provider's next deadline; during a run, its end does this. */
  function arm(subject: VerificationSubject): void {
    if (runs.has(subject.id)) return;
    if (history.isRequested(subject)) return queue.set(subject.id, 'first');
    const waitMs = subject.isHeardElsewhere ? OTHERS_FIRST_MS : 0;
    queue.set(subject.id, clock.ticks() + history.plan(subject).dueInMs + waitMs);
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
    if (!subject.isReachable) return queue.set(id, clock.ticks() + RECHECK_MS);
    // The plan may have changed since: requests were served, or a model was loaded.
    if (history.plan(subject).dueInMs > 0) return arm(subject);
    const controller = new AbortController();
    runs.set(id, { controller, ended: run(id, controller) });
  }

  async function run(id: string, controller: AbortController): Promise<void> {
    const done = await inTurn(host, { id, controller }, (turn) =>
      runIfDue({ id, signal: controller.signal, turn }, history, deps),
    );
    runs.delete(id);
    const now = host.subject(id);
    if (now === null) return forget(id);
    if (done === 'elsewhere') queue.set(id, clock.ticks() + OTHERS_FIRST_MS);
    else {
      if (done !== null && done.ending !== null) history.end(done.subject, done.ending);
      arm(now);
    }
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
    verifiedElsewhere(id) {
      const subject = host.subject(id);
      if (subject === null) return;
      history.forget(id);
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

interface RunReport {
  readonly subject: VerificationSubject;
  /** Null if the run was aborted. */
  readonly ending: RunEnding | null;
}

/** Makes a run, unless it is no longer due because another gateway has verified the machine in the meantime. */
async function runIfDue(
  of: { readonly id: string } & Pick<VerificationRequest, 'signal' | 'turn'>,
  history: RunHistory,
  edges: VerifyEdges,
): Promise<RunReport | null> {
  const subject = edges.host.subject(of.id);
  if (subject === null) return null;
  const { dueInMs, inference } = history.plan(subject);
  if (dueInMs > 0) return null;
  const firstInference = history.isFirst(subject);
  history.begin(subject);
  const { signal, turn } = of;
  const request = { subject, inference, firstInference, signal, turn };
  return { subject, ending: await verifySafely(request, edges) };
}

interface VerificationRequest extends RunRequest {
  readonly firstInference: boolean;
  /** Left out where no other gateway shares the store. */
  readonly turn: VerificationTurn | undefined;
}

type VerifyEdges = RunEdges & { readonly host: VerifierHost; readonly log: Log };

async function verifySafely(
  request: VerificationRequest,
  edges: VerifyEdges,
): Promise<RunEnding | null> {
  const { host, log } = edges;
  const { id } = request.subject;
  try {
    return await verifyOnce(request, edges);
  } catch (error) {
    log('error', 'verification_broken', { provider: id, error: nameOf(error) });
    host.verifying(id, false);
    // A run that failed may have made its test inference.
    return { deferred: false, inference: 'failed', leftOut: false };
  }
}

/** Verifies a provider once and stores the result; null if it was aborted. */
async function verifyOnce(
  request: VerificationRequest,
  edges: VerifyEdges,
): Promise<RunEnding | null> {
  const { host, clock, log } = edges;
  const { subject, inference, turn } = request;
  const { id, materialChanges, verification }: VerificationSubject = subject;
  const startedTicks = clock.ticks();
  host.verifying(id, true);
  const findings = await runChecks(request, edges);
  if (findings === null) {
    host.verifying(id, false);
    return null;
  }
  const tested = inferenceEnding(findings);
  const outcome = verdictOf(findings, request.firstInference);
  const after = settled(verification, outcome, { findings, wallMs: clock.now() });
  const recorded = await host.verificationDone(id, materialChanges, after, turn);
  log(recorded.kind === 'unwritten' ? 'warn' : 'info', 'verification_run', {
    provider: id,
    outcome: outcome.kind,
    state: after.state,
    inference,
    recorded: recorded.kind,
    ms: Math.round(clock.ticks() - startedTicks),
    ...turn?.fields,
  });
  return {
    deferred: outcome.kind === 'loading' || outcome.kind === 'busy',
    inference: tested,
    leftOut: inference === 'if_loaded' && tested === 'none' && outcome.kind === 'verified',
  };
}

/**
 * Does `work` while no other gateway may do the same, and aborts it when the turn is lost; `elsewhere` if another one is
 * doing it. Without others, it starts at once.
 */
async function inTurn<T>(
  host: Pick<VerifierHost, 'turn'>,
  { id, controller }: { readonly id: string; readonly controller: AbortController },
  work: (turn: VerificationTurn | undefined) => Promise<T>,
): Promise<T | 'elsewhere'> {
  if (host.turn === undefined) return work(undefined);
  const turn = await host.turn(id);
  if (turn === null) return 'elsewhere';
  turn.lost.addEventListener('abort', () => controller.abort());
  try {
    return turn.lost.aborted || controller.signal.aborted ? 'elsewhere' : await work(turn);
  } finally {
    turn.release();
  }
}

interface Deadline {
  readonly ticks: number;
  readonly cancel: () => void;
}

/** Deadlines of many providers, in order. `ring` is called when one has passed. */
function createTimerQueue(clock: Clock, ring: () => void) {
  const later = new Map<string, Deadline>();
  /** Due ids, in the order of their deadlines. */
  const ready = new Set<string>();
  const first = new Set<string>();
  let isOpen = false;
  let cancelRing = () => {};

  function drop(id: string): void {
    later.get(id)?.cancel();
    later.delete(id);
    ready.delete(id);
  }

  function ringSoon(): void {
    cancelRing();
    if (isOpen) cancelRing = clock.after(0, ring);
  }

  function set(id: string, ticks: number): void {
    drop(id);
    const due = () => {
      later.delete(id);
      ready.add(id);
      ring();
    };
    const cancel = isOpen ? clock.after(Math.max(0, ticks - clock.ticks()), due) : () => {};
    later.set(id, { ticks, cancel });
  }

  return {
    /** Starts the timers. */
    open(): void {
      isOpen = true;
      const waiting = new Map(later);
      for (const [id, { ticks }] of waiting) set(id, ticks);
      if (first.size > 0) ringSoon();
    },
    close(): void {
      isOpen = false;
      cancelRing();
      for (const { cancel } of later.values()) cancel();
    },
    /** Sets the deadline in ticks; `first` goes ahead of all others. */
    set(id: string, ticks: number | 'first'): void {
      if (ticks === 'first') {
        first.add(id);
        ringSoon();
        return;
      }
      // An id that is already due keeps its place.
      if (!ready.has(id) || ticks > clock.ticks()) set(id, ticks);
    },
    remove(id: string): void {
      drop(id);
      first.delete(id);
    },
    /** Removes and returns the next id that is due; null if there is none. */
    next(): string | null {
      if (!isOpen) return null;
      for (const turns of [first, ready]) {
        for (const id of turns) {
          first.delete(id);
          ready.delete(id);
          return id;
        }
      }
      return null;
    },
  };
}
