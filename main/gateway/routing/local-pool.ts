import type { Config } from '../../config/schema.ts';
import type { Admitted, Out } from '../circuits/circuits.ts';
import type { Result } from '../circuits/transitions.ts';
import { NEUTRAL } from '../monitoring/attempt-log.ts';
import { type ChatCall, localCall } from '../upstream/call.ts';
import type { Failure } from '../upstream/failure.ts';
import { localModel, type LocalTarget } from '../upstream/upstreams.ts';
import type { Door, Leg, Stop, Wanted } from './candidate.ts';
import type { Failed, Left, Outrun } from './fallback-reasons.ts';
import {
  idOf,
  type OrderDeps,
  outOfAll,
  preferred,
  skipped,
  soonestFirst,
  tierResult,
} from './local-balancing.ts';

/** The request on whose behalf the tier is asked. */
export interface TierErrand {
  readonly call: ChatCall;
  readonly config: Config;
  /** Of the circuits, when the request took up its addresses and keys. */
  readonly epoch: number;
}

/**
 * The machines of the local tier, at most three of them in turn, each with an equal share of the tier's
 * time (design 7). The circuit of `local` counts the tier, each machine's own counts the machine.
 */
export function tierStop(
  targets: readonly LocalTarget[],
  errand: TierErrand,
  deps: OrderDeps,
): Stop {
  return new TierStop(targets, errand, deps);
}

class TierStop implements Stop {
  readonly upstream = 'local';
  readonly #targets: readonly LocalTarget[];
  readonly #errand: TierErrand;
  readonly #deps: OrderDeps;
  /** Those that may still be asked; null before the first was. */
  #ahead: LocalTarget[] | null = null;
  #most = 0;
  readonly #given: Leg[] = [];
  readonly #ended = new Map<Leg, Failed | Outrun>();
  #running = 0;
  #tier: Admitted | null = null;
  /** The tier's circuit has heard how the request went, or will from the answer. */
  #isTold = false;
  #out: Left | null = null;

  constructor(targets: readonly LocalTarget[], errand: TierErrand, deps: OrderDeps) {
    this.#targets = targets;
    this.#errand = errand;
    this.#deps = deps;
  }

  next(door: Door, wanted: Wanted): Leg | null {
    if (this.#ahead === null && door === 'enterClosed') return null;
    this.#ahead ??= this.#begin(door);
    const { call, config, epoch } = this.#errand;
    // Those that are dropped on the way leave another list behind.
    for (const target of this.#ahead) {
      if (this.#tier === null || this.#given.length === this.#most) break;
      const ready = localCall(call, target, config, this.#most);
      if (!wanted(ready)) continue;
      const id = idOf(target);
      const own = this.#deps.circuits[door](id, ready, epoch);
      if (own.kind === 'admitted' || door !== 'enterClosed') this.#drop(target);
      if (own.kind === 'out') continue;
      const leg = {
        call: ready,
        pass: { own: { id, ticket: own.ticket }, tier: this.#tier },
      };
      this.#given.push(leg);
      this.#running += 1;
      return leg;
    }
    this.#tellIfLost();
    return null;
  }

  /** Whom to ask, and in; nobody where all are out. */
  #begin(door: Door): LocalTarget[] {
    const { call, config, epoch } = this.#errand;
    const order =
      door === 'enterAnyway'
        ? soonestFirst(this.#targets, this.#outOf)
        : preferred(this.#targets, call.request, this.#outOf, this.#deps);
    if (order.length === 0) return [];
    // Of those that are out only one is asked, the first whose probe is not out already.
    this.#most = door === 'enterAnyway' ? 1 : order.length;
    const wish = { model: '', timeoutMs: config.local.timeoutMs };
    const entry = this.#deps.circuits[door]('local', wish, epoch);
    if (entry.kind === 'admitted') this.#tier = { id: 'local', ticket: entry.ticket };
    else this.#out = skipped(entry);
    return order;
  }

  hasMore(): boolean {
    return this.#ahead === null || !this.#isSpent();
  }

  failed(leg: Leg, failure: Failure): void {
    const provider = leg.pass.own.id;
    this.#ended.set(leg, { kind: 'failed', upstream: 'local', provider, failure });
    this.#end();
  }

  outrun(leg: Leg): void {
    const provider = leg.pass.own.id;
    this.#ended.set(leg, { kind: 'outrun', upstream: 'local', provider });
    this.#running -= 1;
  }

  broken(): void {
    this.#isTold = true;
    this.#end();
  }

  close(): void {
    this.#ahead = [];
    if (this.#running > 0) this.#tell(NEUTRAL);
    else this.#tellIfLost();
  }

  isLost(): boolean {
    return this.#ahead !== null && this.#running === 0 && this.#isSpent();
  }

  left(until: Leg | null): readonly Left[] {
    if (this.#given.length === 0) return [this.#out ?? outOfAll(this.#targets, this.#outOf)];
    const end = until === null ? -1 : this.#given.indexOf(until);
    return this.#leftAmong(end === -1 ? this.#given : this.#given.slice(0, end));
  }

  #leftAmong(legs: readonly Leg[]): (Failed | Outrun)[] {
    return legs.map((leg) => this.#ended.get(leg)).filter((each) => each !== undefined);
  }

  #end(): void {
    this.#running -= 1;
    this.#tellIfLost();
  }

  #isSpent(): boolean {
    return this.#tier === null || this.#given.length === this.#most || this.#ahead?.length === 0;
  }

  #tellIfLost(): void {
    if (this.isLost())
      this.#tell(tierResult(this.#leftAmong(this.#given), this.#targets, this.#outOf));
  }

  #tell(result: Result): void {
    if (this.#tier === null || this.#isTold) return;
    this.#isTold = true;
    this.#deps.circuits.record(this.#tier.id, this.#tier.ticket, result);
  }

  #drop(target: LocalTarget): void {
    this.#ahead = (this.#ahead ?? []).filter((each) => each !== target);
  }

  readonly #outOf = (target: LocalTarget): Out | null =>
    this.#deps.circuits.outOf(
      idOf(target),
      localModel(target, this.#errand.call.request.model) ?? '',
    );
}
