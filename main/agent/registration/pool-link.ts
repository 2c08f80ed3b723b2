import { createHttpLink, type HttpLinkDeps, registryOrigin } from './http-link.ts';
import type { AnnouncedPool, BeatOutcome, RegistryLink, SendLimits } from './link.ts';

export interface PoolLinkDeps extends Omit<HttpLinkDeps, 'origin' | 'pool'> {
  /** The gateway that this machine joined. */
  readonly home: string;
  /** Further addresses, from the settings. */
  readonly others: readonly string[];
  /** As announced last; null where the gateway has no others. */
  readonly pool: AnnouncedPool | null;
  /** Called when something else is announced. */
  readonly onPool: (pool: AnnouncedPool) => void;
}

/** A gateway that is silent for so long is passed over, so that all are asked in the time of one. */
const TRY_MS = 4000;
/** How often the gateway that the machine joined is asked first again. */
const RETURN_MS = 60_000;

/** The way to any gateway of a pool: the one that the machine joined, or the next while that is silent. */
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

  /** All addresses, in the order in which they are asked now. */
  function addresses(): readonly string[] {
    const named = [...others, ...(pool?.registries ?? [])].map(registryOrigin);
    const all = [...new Set([home, ...named.filter((each) => each !== null)])];
    if (all.length === 1 || clock.ticks() - homeTicks >= RETURN_MS) return all;
    const at = Math.max(0, all.indexOf(current));
    return [...all.slice(at), ...all.slice(0, at)];
  }

  function learn(announced: AnnouncedPool | null): void {
    if (announced === null || JSON.stringify(announced) === JSON.stringify(pool)) return;
    pool = announced;
    deps.onPool(announced);
  }

  return {
    get url() {
      return current;
    },
    clockOffsetMs: () => linkTo(current).clockOffsetMs(),
    enroll: (token, limits) => linkTo(home).enroll(token, limits),
    async beat(record, limits) {
      const order = addresses();
      const startedTicks = clock.ticks();
      let best: BeatOutcome | null = null;
      for (const origin of order) {
        const limited = limitedTo(limits, clock.ticks() - startedTicks, order.length);
        if (best !== null && (limited === null || limits.signal.aborted)) break;
        if (origin === home) homeTicks = clock.ticks();
        const outcome = await linkTo(origin).beat(record, limited ?? limits);
        if (outcome.kind === 'accepted') {
          current = origin;
          learn(outcome.pool);
          return outcome;
        }
        if (best === null || (outcome.kind === 'unwritten' && best.kind !== 'unwritten'))
          best = outcome;
      }
      // The next heartbeat begins with another one, so that each has its turn.
      current = order[1] ?? home;
      return best ?? { kind: 'unreachable', message: 'No gateway answered.' };
    },
  };
}

/** Null once the time is up. */
function limitedTo(limits: SendLimits, passedMs: number, count: number): SendLimits | null {
  const leftMs = limits.timeoutMs - passedMs;
  if (leftMs <= 0) return null;
  return { ...limits, timeoutMs: count === 1 ? leftMs : Math.min(leftMs, TRY_MS) };
}
