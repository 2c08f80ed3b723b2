import { type HostedId, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import {
  FIRST_LIMITS,
  LONGEST_WAIT_MS,
  SLOW_MS,
  STARTING,
  TIMEOUT_MS,
  verdictOf,
  within,
  type Action,
  type Ask,
  type Behaviour,
  type Verdict,
} from './routing-table.ts';

/*
 * The routing of a chat completion (docs/reference/routing-rules.md) as a small program of its own: one request at a
 * time, a warm-up that is switched off, jitter at its middle. The real router is held against it.
 */

/** What the caller and the upstreams see of a request. */
export interface Outcome {
  readonly status: number;
  readonly upstream: string;
  readonly reason: string;
  readonly asked: readonly UpstreamId[];
}

/** What the status report says of an upstream. */
export interface Standing {
  readonly requests: number;
  readonly fails: number;
  readonly successes: number;
  readonly open: boolean;
  readonly cooldownRemainingMs: number;
  readonly skips: readonly string[];
}

interface Circuit {
  requests: number;
  fails: number;
  successes: number;
  failsInRow: number;
  slowInRow: number;
  /** Null: closed. */
  until: number | null;
  openings: number;
  /** By reason, `model_not_found <model>` where it is for one. */
  readonly skips: Map<string, number>;
}

type LetIn = 'as usual' | 'as probe' | 'as forced probe';

interface UpstreamOutcome {
  readonly id: UpstreamId;
  readonly reason: string;
  readonly verdict: Verdict | null;
  readonly backAt: number;
}

/** One request on its way. */
interface Walk {
  readonly request: Ask;
  readonly asked: UpstreamId[];
  readonly left: UpstreamOutcome[];
  readonly local: {
    /** Of its timeout. */
    spentMs: number;
    backAt: number | null;
    hasReturned: boolean;
  };
}

const LONGEST_COOLDOWN_MS = 600_000;
const PREFERRED_MS = 3_600_000;
/** How long a start that only requests have seen is believed. */
const SEEN_WARMING_MS = 15_000;

/** A gateway as docs/reference/routing-rules.md describes it, with these upstreams configured. */
export function createModel(configured: ReadonlySet<UpstreamId>) {
  let now = 0;
  let limits = FIRST_LIMITS;
  let forceZero = false;
  let preferred: { readonly id: HostedId; readonly until: number } | null = null;
  let totalRequests = 0;
  let fallbackCount = 0;
  let reachedOndemand = false;
  let warmingUntil = 0;
  const circuits = new Map<UpstreamId, Circuit>(
    UPSTREAM_IDS.map((id) => [
      id,
      {
        requests: 0,
        fails: 0,
        successes: 0,
        failsInRow: 0,
        slowInRow: 0,
        until: null,
        openings: 0,
        skips: new Map<string, number>(),
      },
    ]),
  );
  const at = (id: UpstreamId): Circuit => circuits.get(id) ?? fail(id);

  function active(id: UpstreamId): [string, number][] {
    return [...at(id).skips].filter(([, until]) => until > now);
  }

  /** Why an upstream may not be asked, and when it may. */
  function barOf(id: UpstreamId, model: string): { reason: string; backAt: number } | null {
    const { until } = at(id);
    const held = active(id).filter(([key]) => !key.includes(' ') || key.endsWith(` ${model}`));
    const coolUntil = until === null ? 0 : until;
    const firm = held.filter(([key]) => key !== 'busy');
    const longest = firm.reduce<[string, number] | null>(
      (best, each) => (best !== null && best[1] > each[1] ? best : each),
      null,
    );
    const skip = longest ?? held[0];
    if (skip !== undefined) {
      return { reason: skip[0].split(' ')[0] ?? '', backAt: Math.max(coolUntil, skip[1]) };
    }
    return coolUntil > now ? { reason: 'circuit_open', backAt: coolUntil } : null;
  }

  /** Only what was costly makes the cool-down grow. */
  function open(circuit: Circuit, isDear: boolean): void {
    if (circuit.openings === 0 || isDear) circuit.openings += 1;
    const grown = limits.cooldownMs * 2 ** (circuit.openings - 1);
    circuit.until = now + Math.min(grown, LONGEST_COOLDOWN_MS);
  }

  function close(circuit: Circuit): void {
    Object.assign(circuit, { failsInRow: 0, slowInRow: 0, until: null, openings: 0 });
  }

  /** One call; `deadline` bounds it. */
  function call(id: UpstreamId, meets: Behaviour, request: Ask, deadline: number): Verdict {
    const met = within(deadline - now, meets);
    const circuit = at(id);
    const wasUntil = circuit.until;
    const letIn: LetIn =
      wasUntil === null ? 'as usual' : wasUntil > now ? 'as forced probe' : 'as probe';
    circuit.requests += 1;
    const verdict = verdictOf(met, id, request.stream, reachedOndemand || warmingUntil > now);
    if (met === 'timeout') now = deadline;
    if (verdict === STARTING) warmingUntil = now + SEEN_WARMING_MS;
    if (verdict.mark === 'answer') {
      if (met === 'slow') now += SLOW_MS;
      if (id === 'ondemand') reachedOndemand = true;
      circuit.slowInRow = met === 'slow' ? circuit.slowInRow + 1 : 0;
      if (letIn === 'as usual' && circuit.slowInRow >= limits.ttftSlowThreshold) {
        open(circuit, true);
      }
    }
    if (verdict.mark === 'F' || met === 'cut') {
      const isDear = costsTime(verdict, met, request);
      countFailure(circuit, letIn, { isSlow: met === 'timeout', isDear });
    } else if (verdict.mark === 'answer') countSuccess(circuit, letIn);
    return verdict;
  }

  /** Opened by its own slow beginning: how it ends no longer matters. */
  const isOver = (circuit: Circuit, letIn: LetIn) => letIn === 'as usual' && circuit.until !== null;

  function countSuccess(circuit: Circuit, letIn: LetIn): void {
    circuit.successes += 1;
    if (isOver(circuit, letIn)) return;
    if (letIn === 'as usual') circuit.failsInRow = 0;
    else close(circuit);
  }

  /** A timeout is slow too. */
  function countFailure(
    circuit: Circuit,
    letIn: LetIn,
    { isSlow, isDear }: { readonly isSlow: boolean; readonly isDear: boolean },
  ): void {
    circuit.fails += 1;
    if (isOver(circuit, letIn)) return;
    circuit.failsInRow += 1;
    if (isSlow) circuit.slowInRow += 1;
    const isFull =
      letIn === 'as usual' &&
      (circuit.failsInRow >= limits.failThreshold || circuit.slowInRow >= limits.ttftSlowThreshold);
    if (isFull || letIn === 'as probe') open(circuit, isDear);
  }

  /** An upstream that is let in: asked, perhaps twice. */
  function tryOne(
    id: UpstreamId,
    request: Ask,
    asked: UpstreamId[],
    timeoutMs = TIMEOUT_MS[id],
  ): Verdict {
    const deadline = now + timeoutMs;
    asked.push(id);
    let verdict = call(id, request.meets[id], request, deadline);
    const { retryMs } = verdict;
    if (retryMs !== undefined && now + retryMs < deadline) {
      now += retryMs;
      if ((at(id).until ?? 0) <= now) {
        asked.push(id);
        verdict = call(id, request.again, request, deadline);
      }
    }
    if (verdict.skipMs !== undefined) {
      const { skips } = at(id);
      const key =
        verdict.reason === 'model_not_found' ? `model_not_found ${request.model}` : verdict.reason;
      for (const [old, until] of skips) if (until <= now) skips.delete(old);
      skips.set(key, Math.max(skips.get(key) ?? 0, now + verdict.skipMs));
    }
    return verdict;
  }

  /** `local` once more, after the wait that it asked for; true if it answered. */
  function returned(isLast: boolean, { request, left, asked, local }: Walk): boolean {
    const place = left.findIndex(({ id }) => id === 'local');
    const refused = left[place];
    const isLimited = refused?.verdict === null && refused.reason === 'rate_limited';
    const endsAt = local.backAt ?? (isLast && isLimited ? refused.backAt : null);
    if (local.hasReturned || endsAt === null) return false;
    const waitMs = Math.max(0, endsAt - now);
    if (waitMs > LONGEST_WAIT_MS || local.spentMs + waitMs >= TIMEOUT_MS.local) return false;
    if ((at('local').until ?? 0) > now + waitMs) return false;
    local.hasReturned = true;
    now += waitMs;
    const meets = { ...request.meets, local: request.again };
    const second = local.backAt === null ? request : { ...request, meets };
    const verdict = tryOne('local', second, asked, TIMEOUT_MS.local - local.spentMs - waitMs);
    left.splice(place, 1);
    if (verdict.mark === 'answer') return true;
    left.push({ id: 'local', reason: verdict.reason, verdict, backAt: 0 });
    return false;
  }

  /** The excluded upstream that is back soonest; its id if it answered. */
  function forced({ request, left, asked }: Walk): UpstreamId | null {
    const soonest = left
      .filter(
        ({ reason, verdict }) => verdict === null && ['circuit_open', 'busy'].includes(reason),
      )
      .toSorted((a, b) => a.backAt - b.backAt)[0];
    if (soonest === undefined) return null;
    const verdict = tryOne(soonest.id, request, asked);
    const place = left.indexOf(soonest);
    const tried = { ...soonest, reason: verdict.reason, verdict };
    left.splice(place, 1, ...(verdict.mark === 'answer' ? [] : [tried]));
    return verdict.mark === 'answer' ? soonest.id : null;
  }

  function skipOf(id: UpstreamId, request: Ask): { reason: string; backAt: number } | null {
    if (!configured.has(id)) return { reason: 'not_configured', backAt: 0 };
    const isBarred = (request.zero || forceZero) && id !== 'local';
    return isBarred ? { reason: 'zero_spend', backAt: 0 } : barOf(id, request.model);
  }

  function order(): readonly UpstreamId[] {
    const first = preferred !== null && preferred.until > now ? [preferred.id] : [];
    return [...new Set([...first, ...UPSTREAM_IDS])];
  }

  function walk(request: Ask): Outcome {
    const local = { spentMs: 0, backAt: null, hasReturned: false };
    const state: Walk = { request, asked: [], left: [], local };
    const { left, asked } = state;
    const done = (id: UpstreamId) => outcome(200, id, left, asked);
    const isStopped = () =>
      left.some(({ verdict }) => verdict?.stops === 'at_once') || unexplained(left).length > 1;
    for (const id of order()) {
      if (isStopped()) break;
      const bar = skipOf(id, request);
      if (bar !== null) {
        left.push({ id, ...bar, verdict: null });
        continue;
      }
      const calledAt = now;
      const verdict = tryOne(id, request, asked);
      if (verdict.mark === 'answer') return done(id);
      left.push({ id, reason: verdict.reason, verdict, backAt: 0 });
      if (id === 'local') {
        state.local.spentMs = now - calledAt;
        state.local.backAt = verdict.backMs === undefined ? null : now + verdict.backMs;
      }
      if (!isStopped() && returned(false, state)) return done('local');
    }
    if (!isStopped() && returned(true, state)) return done('local');
    const last = isStopped() || unexplained(left).length > 0 ? null : forced(state);
    return last === null ? finalResponse(left, asked) : done(last);
  }

  return {
    now: () => now,
    totals: () => ({ totalRequests, fallbackCount }),
    act(action: Action): Outcome | null {
      switch (action.kind) {
        case 'pass':
          now += action.ms;
          return null;
        case 'reset':
        case 'rekey':
          // With another key it is another upstream, of which nobody knows that it was ever up.
          if (action.kind === 'rekey' && action.id === 'ondemand') {
            reachedOndemand = false;
            warmingUntil = 0;
          }
          close(at(action.id));
          at(action.id).skips.clear();
          return null;
        case 'limits':
          ({ limits } = action);
          return null;
        case 'force_zero':
          forceZero = action.on;
          return null;
        case 'prefer':
          if (action.id === null) preferred = null;
          else if (!forceZero && configured.has(action.id))
            preferred = { id: action.id, until: now + PREFERRED_MS };
          return null;
        case 'ask': {
          const result = walk(action);
          totalRequests += 1;
          if (result.reason !== 'none') fallbackCount += 1;
          return result;
        }
      }
    },
    standing(id: UpstreamId): Standing {
      const { requests, fails, successes, until } = at(id);
      const skips = active(id)
        .map(([key, end]) => `${key} ${end - now}`)
        .toSorted();
      const cooldownRemainingMs = Math.max(0, (until ?? 0) - now);
      return { requests, fails, successes, open: until !== null, cooldownRemainingMs, skips };
    },
  };
}

/** A timeout, and an answer that had begun. */
function costsTime({ reason }: Verdict, met: Behaviour, { stream }: Ask): boolean {
  return reason === 'timeout' || (met === 'cut' && stream);
}

function fail(id: string): never {
  throw new Error(id);
}

/** Refusals that nobody can explain. */
const unexplained = (left: readonly UpstreamOutcome[]) =>
  left.filter(({ verdict }) => verdict?.stops === 'when_repeated');

function outcome(
  status: number,
  upstream: string,
  left: readonly UpstreamOutcome[],
  asked: readonly UpstreamId[],
): Outcome {
  const nothingTried = asked.length === 0;
  const named = left.filter(({ reason }) => nothingTried || reason !== 'not_configured');
  const reason = named.map((each) => `${each.id}=${each.reason}`).join('; ');
  return { status, upstream, reason: reason === '' ? 'none' : reason, asked };
}

/** What the caller gets when nobody answered. */
function finalResponse(left: readonly UpstreamOutcome[], asked: readonly UpstreamId[]): Outcome {
  const [doubted] = unexplained(left);
  const own =
    doubted === undefined
      ? left.findLastIndex(({ verdict }) => verdict?.own === true)
      : left.indexOf(doubted);
  const passed = left[own];
  if (passed?.verdict) {
    // Left only if somebody was asked after it.
    const isLeft = left.slice(own + 1).some(({ verdict }) => verdict !== null);
    return outcome(passed.verdict.status, passed.id, isLeft ? left : left.slice(0, own), asked);
  }
  const last = left.findLast(({ verdict }) => verdict !== null)?.verdict;
  const permitted = left.filter(({ reason }) => reason !== 'not_configured');
  const allLimited = permitted.length > 0 && permitted.every((l) => l.reason === 'rate_limited');
  if (allLimited) return outcome(429, 'none', left, asked);
  const status = last === undefined || last?.status === 429 ? 503 : (last?.status ?? 503);
  return outcome(status, 'none', left, asked);
}
