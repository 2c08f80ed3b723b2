import type { Clock } from '../../platform/clock.ts';
import type { Failure } from '../upstream/failure.ts';
import type { Dispatch, FallbackPlan } from './fallback-plan.ts';
import { type HedgeBudget, mayHedge, showsContent, hedgeDelayMs } from './hedge-policy.ts';
import { type CallDeps, type AttemptOutcome, callUpstream, type AttemptContext } from './retry.ts';

/** What a heat needs of the world. */
export interface HedgeDeps extends CallDeps {
  readonly budget: HedgeBudget;
}

type Answered = Extract<AttemptOutcome, { readonly kind: 'answered' }>;

/** How a heat ended; the walk has heard of everybody who failed in it. */
export type HedgeResult =
  | (Answered & { readonly dispatch: Dispatch })
  | { readonly kind: 'failed' }
  | { readonly kind: 'cancelled' };

/** Whether somebody else might be asked while `step` is slow. */
export function canHedge(
  { admitted: { call } }: Dispatch,
  plan: FallbackPlan,
  { config }: AttemptContext,
): boolean {
  const { hedge } = config.routing;
  return showsContent(call) && plan.hasMore((to) => mayHedge(hedge, call.upstream, to));
}

/**
 * Asks, and once no content has come by the slow line, asks the next one that is well beside it. The first
 * content wins, the other call is ended at once; never more than two run.
 */
export function runHedged(
  first: Dispatch,
  plan: FallbackPlan,
  context: AttemptContext,
  deps: HedgeDeps,
): Promise<HedgeResult> {
  return new Promise((resolve) => new HedgedCall(plan, context, deps, resolve).start(first));
}

interface Contender {
  readonly dispatch: Dispatch;
  readonly startedAt: number;
  readonly abort: AbortController;
}

class HedgedCall {
  readonly #plan: FallbackPlan;
  readonly #context: AttemptContext;
  readonly #deps: HedgeDeps;
  readonly #resolve: (end: HedgeResult) => void;
  readonly #lineMs: number;
  #contenders: readonly Contender[] = [];
  #cancelTimer: () => void = () => {};
  /** Content has come, of an answer that is being put together: nobody else is asked beside it. */
  #isWon = false;
  #isOver = false;

  constructor(
    plan: FallbackPlan,
    context: AttemptContext,
    deps: HedgeDeps,
    resolve: (end: HedgeResult) => void,
  ) {
    this.#plan = plan;
    this.#context = context;
    this.#deps = deps;
    this.#resolve = resolve;
    this.#lineMs = hedgeDelayMs(context.config);
    context.signal.addEventListener('abort', this.#onCancel);
  }

  start(dispatch: Dispatch): void {
    const contender = { dispatch, startedAt: this.#clock.ticks(), abort: new AbortController() };
    const cause = this.#contenders.length === 0 ? this.#context.cause : 'hedge';
    this.#contenders = [...this.#contenders, contender];
    this.#armHedgeTimer();
    if (this.#context.signal.aborted) contender.abort.abort();
    const context = {
      ...this.#context,
      cause,
      signal: contender.abort.signal,
      onContent: () => this.#onContent(contender),
    };
    void callUpstream(dispatch.admitted, context, this.#deps).then((outcome) =>
      this.#onEnd(contender, outcome),
    );
  }

  get #clock(): Clock {
    return this.#deps.clock;
  }

  /** Only a lone call is timed: two are as many as there may be. */
  #armHedgeTimer(): void {
    this.#cancelTimer();
    const [lone, second] = this.#contenders;
    if (lone === undefined || second !== undefined || this.#isWon) return;
    if (!showsContent(lone.dispatch.admitted.call)) return;
    const goneMs = this.#clock.ticks() - lone.startedAt;
    const leftMs = Math.max(0, this.#lineMs - goneMs);
    this.#cancelTimer = this.#clock.after(leftMs, () => this.#hedge(lone));
  }

  #hedge({ dispatch: { admitted } }: Contender): void {
    const { routing, circuit } = this.#context.config;
    const { hedge, hedgeBudget } = routing;
    const { budget } = this.#deps;
    if (!budget.allows(hedgeBudget, circuit.ttftSlowThreshold)) return;
    const dispatch = this.#plan.hedge((to) => mayHedge(hedge, admitted.call.upstream, to));
    if (dispatch === null) return;
    budget.spend();
    this.start(dispatch);
  }

  #onContent(winner: Contender): void {
    if (!this.#contenders.includes(winner) || this.#isWon) return;
    this.#isWon = true;
    this.#cancelTimer();
    this.#cancelOthers(winner);
  }

  #onEnd(contender: Contender, outcome: AttemptOutcome): void {
    if (!this.#contenders.includes(contender)) {
      // Outrun, but its content came in the same turn: nobody takes that stream over.
      if (outcome.kind === 'answered' && outcome.seen.kind === 'stream')
        outcome.seen.exchange.abort();
      return;
    }
    switch (outcome.kind) {
      case 'answered':
        this.#cancelOthers(contender);
        this.#finish({ ...outcome, dispatch: contender.dispatch });
        break;
      case 'cancelled':
        this.#finish(outcome);
        break;
      case 'failed':
        this.#onFailed(contender, outcome.failure);
    }
  }

  #onFailed(contender: Contender, failure: Failure): void {
    // Without a hedge a refusal by the first would be the answer: no key of ours is to pay for another.
    if (!failure.fallBack && this.#contenders[0] === contender) this.#cancelOthers(contender);
    this.#contenders = this.#contenders.filter((each) => each !== contender);
    this.#plan.failed(contender.dispatch, failure);
    if (this.#contenders.length === 0) this.#finish({ kind: 'failed' });
    else this.#armHedgeTimer();
  }

  #cancelOthers(winner: Contender): void {
    const others = this.#contenders.filter((each) => each !== winner);
    this.#contenders = [winner];
    for (const { dispatch, abort } of others) {
      this.#context.attempts.hedgeLost(dispatch.admitted.call);
      dispatch.candidate.outrun(dispatch.admitted);
      abort.abort();
    }
  }

  readonly #onCancel = (): void => {
    for (const { abort } of this.#contenders) abort.abort();
  };

  #finish(end: HedgeResult): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer();
    this.#context.signal.removeEventListener('abort', this.#onCancel);
    this.#resolve(end);
  }
}
