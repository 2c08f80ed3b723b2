import type { UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import { Cancellation } from '../../platform/clock.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import { type CallDeps, type CallOutcome, callUpstream } from './call-upstream.ts';
import type { RoutedRequest } from './candidates.ts';
import type { Turn, Walk } from './walk.ts';

type Hedge = Config['routing']['hedge'];

export interface HedgeDeps extends CallDeps {
  readonly budget: HedgeBudget;
}

/** Own machines must not read a longer prompt twice, as it takes long because it is long. */
const MAX_OWN_BYTES = 8 * 1024;

/**
 * Whether `to` may be called while `from` is slow. Only `all` lets a prompt go to a hosted upstream, and
 * cost money, because `local` was slow; where `local` comes after a hosted one, it may always help.
 */
function mayHedge(hedge: Hedge, from: UpstreamCall, to: UpstreamId): boolean {
  if (hedge === 'off') return false;
  const isOwn = from.upstream === 'local' || to === 'local';
  if (isOwn && from.promptBytes > MAX_OWN_BYTES) return false;
  return hedge === 'all' || from.upstream !== 'local' || to === 'local';
}

/** An answer that comes as a whole shows no first token, so its duration does not tell whether it is slow. */
function showsContent({ mode }: UpstreamCall): boolean {
  return mode !== 'whole';
}

/** Whether one of the upstreams `ahead` might be called while this call is slow. */
export function canHedge(call: UpstreamCall, ahead: readonly UpstreamId[], hedge: Hedge): boolean {
  return showsContent(call) && ahead.some((to) => mayHedge(hedge, call, to));
}

interface Contender {
  readonly turn: Turn;
  readonly startedAt: number;
  readonly cancellation: Cancellation;
}

/**
 * `racing`: no content yet; `won`: content has come of an answer that is being assembled, and no further
 * call is started even if that answer fails; `settled`: the result is out.
 */
type RaceState = 'racing' | 'won' | 'settled';

/**
 * Calls an upstream and, if no content has come by the hedge delay, the next one whose circuit is closed
 * beside it. The first content wins and the other call is aborted at once; never more than two run. Failures but the
 * last are told to the walk here.
 */
export function race(
  first: Turn,
  walk: Walk,
  request: RoutedRequest,
  deps: HedgeDeps,
): Promise<CallOutcome> {
  const { clock, budget } = deps;
  const { config, signal } = request;
  const { hedge } = config.routing;
  const { promise, resolve } = Promise.withResolvers<CallOutcome>();
  let state: RaceState = 'racing';
  /** The running calls, at most two. */
  let contenders: readonly Contender[] = [];
  let cancelTimer = () => {};

  function start(turn: Turn): void {
    const contender = { turn, startedAt: turn.at, cancellation: new Cancellation() };
    const cause = contenders.length === 0 ? 'turn' : 'hedge';
    contenders = [...contenders, contender];
    armHedgeTimer();
    if (signal.aborted) contender.cancellation.abort();
    const onContent = () => won(contender);
    const options = { untilHung: true, cause, signal: contender.cancellation, onContent } as const;
    void callUpstream(turn, request, deps, options).then((outcome) => ended(contender, outcome));
  }

  /** Runs only while there is one call: two are the limit. */
  function armHedgeTimer(): void {
    cancelTimer();
    const [only, second] = contenders;
    if (only === undefined || second !== undefined || state !== 'racing') return;
    if (!showsContent(only.turn.call)) return;
    const elapsedMs = clock.ticks() - only.startedAt;
    const remainingMs = Math.max(0, config.circuit.ttftThresholdMs - elapsedMs);
    cancelTimer = clock.after(remainingMs, () => startHedge(only.turn));
  }

  function startHedge({ call: slow }: Turn): void {
    if (!budget.allows()) return;
    const turn = walk.hedge((call) => mayHedge(hedge, slow, call.upstream));
    if (turn === null) return;
    budget.spend();
    start(turn);
  }

  function won(winner: Contender): void {
    if (state !== 'racing' || !contenders.includes(winner)) return;
    state = 'won';
    cancelTimer();
    abortOthers(winner);
  }

  function ended(contender: Contender, outcome: CallOutcome): void {
    if (state === 'settled' || !contenders.includes(contender)) {
      // Its content came in the same turn as the winner's: the stream has no reader.
      if (outcome.kind === 'answered' && outcome.seen.kind !== 'answer')
        outcome.seen.exchange.abort();
      return;
    }
    if (outcome.kind === 'failed') {
      failed(contender, outcome);
      return;
    }
    if (outcome.kind === 'answered') abortOthers(contender);
    settle(outcome);
  }

  function failed(
    contender: Contender,
    outcome: Extract<CallOutcome, { readonly kind: 'failed' }>,
  ): void {
    // Without hedging the first call's refusal would be the answer, so no other upstream's answer may win.
    const isFinal = outcome.failure.fallBack === 'never' && contenders[0] === contender;
    if (isFinal) abortOthers(contender);
    contenders = contenders.filter((each) => each !== contender);
    if (contenders.length === 0) settle(outcome);
    else {
      walk.failed(contender.turn, outcome.failure);
      armHedgeTimer();
    }
  }

  function abortOthers(winner: Contender): void {
    const others = contenders.filter((each) => each !== winner);
    contenders = [winner];
    for (const { turn, cancellation } of others) {
      turn.step.outrun(turn);
      cancellation.abort();
    }
  }

  function abortAll(): void {
    for (const { cancellation } of contenders) cancellation.abort();
  }

  function settle(outcome: CallOutcome): void {
    state = 'settled';
    cancelTimer();
    signal.removeEventListener('abort', abortAll);
    resolve(outcome);
  }

  signal.addEventListener('abort', abortAll);
  start(first);
  return promise;
}

export type HedgeBudget = ReturnType<typeof createHedgeBudget>;

/** Hedges per request in the long run. */
const SHARE = 0.05;
/** As many at once; and at first, as it takes for the circuit of an upstream that hangs to open. */
const [MOST, FIRST] = [10, 3];

/** Keeps hedges from doubling the load of upstreams that are all slow. */
export function createHedgeBudget() {
  let left = FIRST;
  return {
    requested: () => void (left = Math.min(left + SHARE, MOST)),
    allows: () => left >= 1,
    spend: () => void (left -= 1),
  };
}
