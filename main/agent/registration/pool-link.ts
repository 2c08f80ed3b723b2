import { createHttpLink, type HttpLinkDeps, registryOrigin } from './http-link.ts';
import type { PoolAnnouncement } from '#shared/pool.ts';
import type { BeatOutcome, EnrollOutcome, RegistryLink, SendLimits } from './link.ts';

export interface PoolLinkDeps extends Omit<HttpLinkDeps, 'origin' | 'pool'> {
  /** The gateway that this machine joined. */
  readonly home: string;
  /** Other addresses, from the settings and the join command. */
  readonly others: readonly string[];
  /** As last announced; null if the gateway is in no pool. */
  readonly pool: PoolAnnouncement | null;
  /** Called when the announcement changes. */
  readonly onPool: (pool: PoolAnnouncement) => void;
}

/** A gateway that is silent for this long is passed over, so that all are tried within the timeout of one exchange. */
const TRY_MS = 4000;
/** How often the gateway that the machine joined is tried first again. */
const RETURN_MS = 60_000;

/** A link to any gateway of a pool: the home gateway, or the next one while that is silent. */
export function createPoolLink(deps: PoolLinkDeps): RegistryLink {
  const { home, others, clock } = deps;
  const links = new Map<string, RegistryLink>();
  let { pool } = deps;
  let current = home;
  let homeTicks = -Infinity;

  function linkTo(origin: string): RegistryLink {
    const known = links.get(origin);
    if (known !== undefined) return known;
    const link = createHttpLink({ ...deps, origin, pool: () => pool?.id });
    links.set(origin, link);
    return link;
  }

  /** All addresses, in the order in which they are tried now. */
  function addresses(): readonly string[] {
    const named = [...others, ...(pool?.registries ?? [])].map(registryOrigin);
    const all = [...new Set([home, ...named.filter((each) => each !== null)])];
    if (all.length === 1 || clock.ticks() - homeTicks >= RETURN_MS) return all;
    const at = Math.max(0, all.indexOf(current));
    return [...all.slice(at), ...all.slice(0, at)];
  }

  function learn(announced: PoolAnnouncement | null): void {
    if (announced === null || JSON.stringify(announced) === JSON.stringify(pool)) return;
    pool = announced;
    deps.onPool(announced);
  }

  /** Tries one gateway after another until an answer is final. */
  async function ask<Outcome extends BeatOutcome | EnrollOutcome>(
    limits: SendLimits,
    send: (link: RegistryLink, limits: SendLimits) => Promise<Outcome>,
    stands: (outcome: Outcome) => boolean,
  ): Promise<Outcome> {
    const order = addresses();
    const startedTicks = clock.ticks();
    let best: Outcome | null = null;
    for (const origin of order) {
      const limited = limitedTo(limits, clock.ticks() - startedTicks, order.length);
      if (best !== null && (limited === null || limits.signal.aborted)) break;
      if (origin === home) homeTicks = clock.ticks();
      const outcome: Outcome = await send(linkTo(origin), limited ?? limits);
      if (stands(outcome)) {
        current = origin;
        return outcome;
      }
      if (best === null || (outcome.kind === 'unwritten' && best.kind !== 'unwritten'))
        best = outcome;
    }
    // The next message starts with another gateway, so that each has its turn.
    current = order[1] ?? home;
    return best ?? (await send(linkTo(home), limits));
  }

  return {
    get url() {
      return current;
    },
    clockOffsetMs: () => linkTo(current).clockOffsetMs(),
    async enroll(token, limits) {
      const outcome = await ask<EnrollOutcome>(
        limits,
        (to, most) => to.enroll(token, most),
        isFinal,
      );
      // The caller saves the pool with the rest of the enrolment.
      if (outcome.kind === 'enrolled') ({ pool } = outcome);
      return outcome;
    },
    async beat(record, limits) {
      const outcome = await ask<BeatOutcome>(
        limits,
        (to, most) => to.beat(record, most),
        ({ kind }) => kind === 'accepted',
      );
      if (outcome.kind === 'accepted') learn(outcome.pool);
      return outcome;
    },
  };
}

/** The gateway has accepted or refused the machine, and the others would do the same. */
const isFinal = ({ kind }: EnrollOutcome) =>
  kind !== 'unreachable' && kind !== 'busy' && kind !== 'garbage';

/** The limits for the next of `count` gateways; null once the time is up. */
function limitedTo(limits: SendLimits, passedMs: number, count: number): SendLimits | null {
  const leftMs = limits.timeoutMs - passedMs;
  if (leftMs <= 0) return null;
  return { ...limits, timeoutMs: count === 1 ? leftMs : Math.min(leftMs, TRY_MS) };
}
