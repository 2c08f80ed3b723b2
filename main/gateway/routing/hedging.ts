import { Cancellation } from '../../platform/clock.ts';
import type { Failure } from '../upstream/failure.ts';
import type { Dispatch } from './candidate.ts';
import type { FallbackPlan } from './fallback-plan.ts';
import { type HedgeBudget, hedgeDelayMs, mayHedge, showsContent } from './hedge-policy.ts';
import {
  type AnsweredCall,
  type AttemptContext,
  type AttemptOutcome,
  type CallDeps,
  callUpstream,
} from './retry.ts';

export interface HedgeDeps extends CallDeps {
  readonly budget: HedgeBudget;
}

/** How a dispatch ended; failures are already recorded in the plan. */
export type DispatchResult =
  | (AnsweredCall & { readonly dispatch: Dispatch })
  | { readonly kind: 'failed' }
  | { readonly kind: 'cancelled' };

/**
 * Calls an upstream and, if no content has come by the hedge delay, the next one whose circuit is closed
 * beside it. The first content wins and the other call is aborted at once; never more than two run.
 */
export function runHedged(
  first: Dispatch,
  plan: FallbackPlan,
  context: AttemptContext,
  deps: HedgeDeps,
): Promise<DispatchResult> {
  return new Promise((resolve) => new HedgedCall(plan, context, deps, resolve).start(first));
}

interface Contender {
  readonly dispatch: Dispatch;
  readonly cancellation: Cancellation;
}

/**
 * `racing`: no content yet; `won`: content has come of an answer that is being assembled, and no further
 * call is started even if that answer fails; `settled`: the result is out.
 */
type HedgeState = 'racing' | 'won' | 'settled';

class HedgedCall {
  readonly #plan: FallbackPlan;
  readonly #context: AttemptContext;
  readonly #deps: HedgeDeps;
  readonly #resolve: (result: DispatchResult) => void;
  #state: HedgeState = 'racing';
  /** The running calls, at most two. */
  #contenders: readonly Contender[] = [];
  #cancelTimer: () => void = () => {};

  constructor(
    plan: FallbackPlan,
    context: AttemptContext,
    deps: HedgeDeps,
    resolve: (result: DispatchResult) => void,
  ) {
    this.#plan = plan;
    this.#context = context;
    this.#deps = deps;
    this.#resolve = resolve;
    context.signal.addEventListener('abort', this.#onCancel);
  }

  start(dispatch: Dispatch): void {
    const contender = { dispatch, cancellation: new Cancellation() };
    const cause = this.#contenders.length === 0 ? this.#context.cause : 'hedge';
    this.#contenders = [...this.#contenders, contender];
    this.#armHedgeTimer();
    if (this.#context.signal.aborted) contender.cancellation.abort();
    const context = {
      ...this.#context,
      cause,
      signal: contender.cancellation,
      onContent: () => this.#onContent(contender),
    };
    void callUpstream(dispatch.admitted, context, this.#deps).then((outcome) =>
      this.#onEnd(contender, outcome),
    );
  }

  /** Runs only while there is one call: two are the limit. */
  #armHedgeTimer(): void {
    this.#cancelTimer();
    const [only, second] = this.#contenders;
    if (only === undefined || second !== undefined || this.#state !== 'racing') return;
    if (!showsContent(only.dispatch.admitted.call)) return;
    const { clock } = this.#deps;
    const elapsedMs = clock.ticks() - only.dispatch.admitted.at;
    const remainingMs = Math.max(0, hedgeDelayMs(this.#context.config) - elapsedMs);
    this.#cancelTimer = clock.after(remainingMs, () => this.#startHedge(only));
  }

  #startHedge({ dispatch: { admitted } }: Contender): void {
    const { routing, circuit } = this.#context.config;
    const { budget } = this.#deps;
    if (!budget.allows(routing.hedgeBudget, circuit.ttftSlowThreshold)) return;
    if (!this.#context.reserveCopy()) return;
    const dispatch = this.#plan.hedge((to) => mayHedge(routing.hedge, admitted.call.upstream, to));
    if (dispatch === null) return;
    budget.spend();
    this.start(dispatch);
  }

  #onContent(winner: Contender): void {
    if (this.#state !== 'racing' || !this.#contenders.includes(winner)) return;
    this.#state = 'won';
    this.#cancelTimer();
    this.#abortOthers(winner);
  }

  #onEnd(contender: Contender, outcome: AttemptOutcome): void {
    if (this.#state === 'settled' || !this.#contenders.includes(contender)) {
      // Its content came in the same turn as the winner's: the stream has no reader.
      if (outcome.kind === 'answered' && outcome.seen.kind !== 'answer')
        outcome.seen.exchange.abort();
      return;
    }
    switch (outcome.kind) {
      case 'answered':
        this.#abortOthers(contender);
        this.#settle({ ...outcome, dispatch: contender.dispatch });
        break;
      case 'cancelled':
        this.#settle(outcome);
        break;
      case 'failed':
        this.#onFailed(contender, outcome.failure);
    }
  }

  #onFailed(contender: Contender, failure: Failure): void {
    // Without hedging the first call's refusal would be the answer, so no other upstream's answer may win.
    const isFinal = failure.fallBack === 'never' && this.#contenders[0] === contender;
    if (isFinal) this.#abortOthers(contender);
    this.#contenders = this.#contenders.filter((each) => each !== contender);
    this.#plan.failed(contender.dispatch, failure);
    if (this.#contenders.length === 0) this.#settle({ kind: 'failed' });
    else this.#armHedgeTimer();
  }

  #abortOthers(winner: Contender): void {
    const others = this.#contenders.filter((each) => each !== winner);
    this.#contenders = [winner];
    for (const { dispatch, cancellation } of others) {
      this.#context.attempts.hedgeLost(dispatch.admitted.call);
      dispatch.candidate.hedgeLost(dispatch.admitted);
      cancellation.abort();
    }
  }

  readonly #onCancel = (): void => {
    for (const { cancellation } of this.#contenders) cancellation.abort();
  };

  #settle(result: DispatchResult): void {
    this.#state = 'settled';
    this.#cancelTimer();
    this.#context.signal.removeEventListener('abort', this.#onCancel);
    this.#resolve(result);
  }
}
