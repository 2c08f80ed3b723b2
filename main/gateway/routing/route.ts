import type { UpstreamId } from '#shared/ids.ts';
import type { FallbackReason } from '#shared/reasons.ts';
import type { Config } from '../../config/schema.ts';
import { Cancellation, type CancelSignal, sleep } from '../../platform/clock.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import {
  type CallAnswer,
  type CallDeps,
  type CallOutcome,
  callUpstream,
  type Turn,
} from './call-upstream.ts';
import type { CandidateDeps, RoutedRequest } from './candidates.ts';
import { type Unanswered, unanswered } from './outcomes.ts';
import { Walk } from './walk.ts';

export interface RouterDeps extends CallDeps, CandidateDeps {
  readonly budget: ReturnType<typeof createHedgeBudget>;
  /** A model of the fixed engine has answered. */
  readonly localUsed: (model: string) => void;
}

export type RouteResult = CallAnswer | Unanswered | { readonly kind: 'cancelled' };

/**
 * Routes a request, and has `answer` send what comes of it: the walk has the calls that are left, should the answer break
 * off. Whatever happens, no circuit waits for one of its calls afterwards. As soon as `local` is lost the on-demand upstream
 * is warmed up, without waiting for it.
 */
export async function route<End>(
  request: RoutedRequest,
  deps: RouterDeps,
  answer: (routed: RouteResult, walk: Walk) => Promise<End>,
): Promise<End> {
  deps.budget.requested();
  const walk = new Walk(request, deps, (reasons) => warmUpAfter(reasons, walk, request, deps));
  try {
    // The result is no variable: its first events need not live as long as the answer.
    return await firstAnswer(walk, request, deps).then((routed) => answer(routed, walk));
  } finally {
    walk.finish();
  }
}

/** Tries the upstreams in routing order until one answers (docs/reference/routing-rules.md). */
async function firstAnswer(
  walk: Walk,
  request: RoutedRequest,
  deps: RouterDeps,
): Promise<RouteResult> {
  while (!request.signal.aborted) {
    // With nobody left, the excluded upstream that is back soonest is called all the same.
    const turn = walk.next() ?? walk.force();
    if (turn === null) return unanswered(walk.outcomes(null));
    const outcome = await callOrHedge(turn, walk, request, deps);
    if (outcome.kind === 'cancelled') break;
    if (outcome.kind === 'answered') {
      walk.answered(outcome.turn);
      noteAnswer(outcome, deps);
      return outcome;
    }
    walk.failed(outcome.turn, outcome.failure);
  }
  return { kind: 'cancelled' };
}

function noteAnswer({ call }: CallAnswer, { localUsed }: RouterDeps): void {
  const { upstream, provider, request, model } = call;
  if (upstream === 'local' && provider === null && !request.endpoint.keepsModel) localUsed(model);
}

/**
 * No warm-up where `local` is not configured or is paused by its owner: every request would keep a GPU
 * running that is paid for.
 */
function warmUpAfter(
  reasons: readonly FallbackReason[],
  walk: Walk,
  { config, remotes }: RoutedRequest,
  { warmup, circuits }: RouterDeps,
): void {
  const upstream = remotes.find(({ id }) => id === 'ondemand');
  if (upstream === undefined || !config.ondemand.warmup) return;
  const isSetUp = !reasons.includes('not_configured') && !reasons.includes('paused');
  if (!isSetUp || !walk.suits('ondemand')) return;
  const hosted = remotes.filter((each) => each !== upstream);
  const answers = hosted.map(({ id }) => circuits.at(id).breaker.health.provenAt ?? 0);
  warmup.startFromRouting(upstream, Math.max(0, ...answers));
}

type Hedge = Config['routing']['hedge'];

/** Own machines must not read a longer prompt twice, as it takes long because it is long. */
const MAX_OWN_BYTES = 8 * 1024;

/**
 * Whether `to` may be called while `from` is slow. Only `all` lets a prompt go to a hosted upstream, and
 * cost money, because `local` was slow; where `local` comes after a hosted one, it may always help.
 */
function mayHedgeTo(hedge: Hedge, from: UpstreamCall, to: UpstreamId): boolean {
  if (hedge === 'off') return false;
  const isOwn = from.upstream === 'local' || to === 'local';
  if (isOwn && from.request.bytes.length > MAX_OWN_BYTES) return false;
  return hedge === 'all' || from.upstream !== 'local' || to === 'local';
}

/** One of the calls of which the first content wins. */
interface RacingCall {
  readonly turn: Turn;
  readonly cancellation: Cancellation;
  readonly outcome: Promise<CallOutcome>;
}

/**
 * Calls an upstream and, if no content has come by the hedge delay, the next one whose circuit is closed
 * beside it. The first content wins and the other call is aborted at once; never more than two run. Failures but the
 * last are told to the walk here.
 */
async function callOrHedge(
  first: Turn,
  walk: Walk,
  request: RoutedRequest,
  deps: RouterDeps,
): Promise<CallOutcome> {
  const { clock, budget } = deps;
  const { signal, config } = request;
  const { hedge } = config.routing;
  const racing = new Set<RacingCall>();
  /** Aborted at the first content: no call is started after it, even if that answer fails. */
  const delay = new Cancellation();

  function start(turn: Turn): RacingCall {
    const cancellation = endingWith(signal);
    const options = { walk, signal: cancellation, onContent: () => keepOnly(call) };
    const outcome = callUpstream(turn, request, deps, options);
    const call: RacingCall = { turn, cancellation, outcome };
    racing.add(call);
    return call;
  }

  function keepOnly(winner: RacingCall): void {
    delay.abort();
    for (const call of racing) {
      if (call === winner) continue;
      racing.delete(call);
      walk.outrun(call.turn);
      call.cancellation.abort();
      call.outcome.catch(() => {});
    }
  }

  /** Null if its content or its end came in time, or no other upstream may be called. */
  async function hedgeOf(slow: RacingCall): Promise<RacingCall | null> {
    const { call, at } = slow.turn;
    const mayHelp = (to: UpstreamId) => mayHedgeTo(hedge, call, to);
    // An answer that comes as a whole has no first token that could be late.
    if (call.mode === 'whole' || !walk.hasAhead(mayHelp)) return null;
    const dueMs = Math.max(0, at + config.circuit.ttftThresholdMs - clock.ticks());
    const isLate = await Promise.race([sleep(clock, dueMs, delay), slow.outcome.then(() => false)]);
    if (!isLate || !budget.allows()) return null;
    const turn = walk.next(({ upstream }) => mayHelp(upstream), 'hedge');
    if (turn === null) return null;
    budget.spend();
    return start(turn);
  }

  try {
    let earliest = start(first);
    for (;;) {
      const hedged = await hedgeOf(earliest);
      if (hedged === null) return await earliest.outcome;
      const { call, outcome } = await Promise.race([earliest, hedged].map(withOutcome));
      const other = call === earliest ? hedged : earliest;
      if (!racing.has(call)) return await other.outcome;
      // Without hedging the first call's refusal would be the answer, so no other upstream's answer may win.
      const isRefusal = outcome.kind === 'failed' && outcome.failure.fallBack === 'never';
      if (outcome.kind === 'answered' || (isRefusal && call === earliest)) keepOnly(call);
      if (outcome.kind !== 'failed' || !racing.has(other)) return outcome;
      racing.delete(call);
      walk.failed(call.turn, outcome.failure);
      earliest = other;
    }
  } finally {
    delay.abort();
  }
}

/** A function of its own, as the listener keeps what is around it in memory until the request is over. */
function endingWith(signal: CancelSignal): Cancellation {
  const cancellation = new Cancellation();
  if (signal.aborted) cancellation.abort();
  signal.addEventListener('abort', () => cancellation.abort());
  return cancellation;
}

const withOutcome = async (call: RacingCall) => ({ call, outcome: await call.outcome });

/** Hedges per request in the long run; at first as many as it takes for the circuit of an upstream that hangs to open. */
const [SHARE, FIRST, MOST] = [0.05, 3, 10];

/** Keeps hedges from doubling the load of upstreams that are all slow; saves up to `MOST`. */
export function createHedgeBudget() {
  let left = FIRST;
  return {
    requested: () => void (left = Math.min(left + SHARE, MOST)),
    allows: () => left >= 1,
    spend: () => void (left -= 1),
  };
}
