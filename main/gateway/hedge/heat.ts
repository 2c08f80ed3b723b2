import type { Clock } from '../../platform/clock.ts';
import { askUpstream, type AskDeps, type Asked, type Errand } from '../asking.ts';
import type { Failure } from '../outcome/outcomes.ts';
import type { Step, Walk } from '../walk/walk.ts';
import type { HedgeBudget } from './budget.ts';
import { mayHedge, showsContent, slowLineMs } from './rules.ts';

/** What a heat needs of the world. */
export interface HeatDeps extends AskDeps {
  readonly budget: HedgeBudget;
}

type Answered = Extract<Asked, { readonly kind: 'answered' }>;

/** How a heat ended; the walk has heard of everybody who failed in it. */
export type HeatEnd =
  | (Answered & { readonly step: Step })
  | { readonly kind: 'failed' }
  | { readonly kind: 'cancelled' };

/** Whether somebody else might be asked while `step` is slow. */
export function mayBeHedged({ leg: { call } }: Step, walk: Walk, { config }: Errand): boolean {
  const { hedge } = config.routing;
  return showsContent(call) && walk.hasMore((to) => mayHedge(hedge, call.upstream, to));
}

/**
 * Asks, and once no content has come by the slow line, asks the next one that is well beside it. The first
 * content wins, the other call is ended at once; never more than two run.
 */
export function runHeat(first: Step, walk: Walk, errand: Errand, deps: HeatDeps): Promise<HeatEnd> {
  return new Promise((resolve) => new Heat(walk, errand, deps, resolve).start(first));
}

interface Runner {
  readonly step: Step;
  readonly startedAt: number;
  readonly abort: AbortController;
}

class Heat {
  readonly #walk: Walk;
  readonly #errand: Errand;
  readonly #deps: HeatDeps;
  readonly #resolve: (end: HeatEnd) => void;
  readonly #lineMs: number;
  #runners: readonly Runner[] = [];
  #cancelTimer: () => void = () => {};
  /** Content has come, of an answer that is being put together: nobody else is asked beside it. */
  #isWon = false;
  #isOver = false;

  constructor(walk: Walk, errand: Errand, deps: HeatDeps, resolve: (end: HeatEnd) => void) {
    this.#walk = walk;
    this.#errand = errand;
    this.#deps = deps;
    this.#resolve = resolve;
    this.#lineMs = slowLineMs(errand.config);
    errand.signal.addEventListener('abort', this.#onCancel);
  }

  start(step: Step): void {
    const runner = { step, startedAt: this.#clock.ticks(), abort: new AbortController() };
    const cause = this.#runners.length === 0 ? this.#errand.cause : 'hedge';
    this.#runners = [...this.#runners, runner];
    this.#waitForLine();
    if (this.#errand.signal.aborted) runner.abort.abort();
    const errand = {
      ...this.#errand,
      cause,
      signal: runner.abort.signal,
      onContent: () => this.#onContent(runner),
    };
    void askUpstream(step.leg, errand, this.#deps).then((asked) => this.#onEnd(runner, asked));
  }

  get #clock(): Clock {
    return this.#deps.clock;
  }

  /** Only a lone call is timed: two are as many as there may be. */
  #waitForLine(): void {
    this.#cancelTimer();
    const [lone, second] = this.#runners;
    if (lone === undefined || second !== undefined || this.#isWon) return;
    if (!showsContent(lone.step.leg.call)) return;
    const goneMs = this.#clock.ticks() - lone.startedAt;
    const leftMs = Math.max(0, this.#lineMs - goneMs);
    this.#cancelTimer = this.#clock.after(leftMs, () => this.#hedge(lone));
  }

  #hedge({ step: { leg } }: Runner): void {
    const { routing, circuit } = this.#errand.config;
    const { hedge, hedgeBudget } = routing;
    const { budget } = this.#deps;
    if (!budget.allows(hedgeBudget, circuit.ttftSlowThreshold)) return;
    const step = this.#walk.hedge((to) => mayHedge(hedge, leg.call.upstream, to));
    if (step === null) return;
    budget.spend();
    this.start(step);
  }

  #onContent(winner: Runner): void {
    if (!this.#runners.includes(winner) || this.#isWon) return;
    this.#isWon = true;
    this.#cancelTimer();
    this.#leaveOthers(winner);
  }

  #onEnd(runner: Runner, asked: Asked): void {
    if (!this.#runners.includes(runner)) {
      // Outrun, but its content came in the same turn: nobody takes that stream over.
      if (asked.kind === 'answered' && asked.seen.kind === 'stream') asked.seen.exchange.abort();
      return;
    }
    switch (asked.kind) {
      case 'answered':
        this.#leaveOthers(runner);
        this.#finish({ ...asked, step: runner.step });
        break;
      case 'cancelled':
        this.#finish(asked);
        break;
      case 'failed':
        this.#onFailed(runner, asked.failure);
    }
  }

  #onFailed(runner: Runner, failure: Failure): void {
    // Without a hedge a refusal by the first would be the answer: no key of ours is to pay for another.
    if (!failure.fallBack && this.#runners[0] === runner) this.#leaveOthers(runner);
    this.#runners = this.#runners.filter((each) => each !== runner);
    this.#walk.failed(runner.step, failure);
    if (this.#runners.length === 0) this.#finish({ kind: 'failed' });
    else this.#waitForLine();
  }

  #leaveOthers(winner: Runner): void {
    const others = this.#runners.filter((each) => each !== winner);
    this.#runners = [winner];
    for (const { step, abort } of others) {
      this.#errand.log.outrun(step.leg.call);
      step.stop.outrun(step.leg);
      abort.abort();
    }
  }

  readonly #onCancel = (): void => {
    for (const { abort } of this.#runners) abort.abort();
  };

  #finish(end: HeatEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer();
    this.#errand.signal.removeEventListener('abort', this.#onCancel);
    this.#resolve(end);
  }
}
