import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import { type ChatCall, localCall, remoteCall } from '../upstream/call.ts';
import type { Failure } from '../upstream/failure.ts';
import type { RemoteUpstream } from '../upstream/upstreams.ts';
import {
  type Door,
  type Leg,
  SingleStop,
  SkippedStop,
  type Stop,
  type Wanted,
} from './candidate.ts';
import type { Left } from './fallback-reasons.ts';
import type { OrderDeps } from './local-balancing.ts';
import { tierStop } from './local-pool.ts';
import { type ForesightDeps, isLocalTooSlow } from './predicted-slow.ts';

/** What the walk needs of the world. */
export interface WalkDeps extends OrderDeps, ForesightDeps {
  /** `local` is lost, or could not be tried. */
  readonly localLost: (left: readonly Left[]) => void;
}

/** The request that walks. */
export interface Walker {
  readonly call: ChatCall;
  readonly config: Config;
  readonly remotes: readonly RemoteUpstream[];
  /** Of the circuits, when the request took up its addresses and keys. */
  readonly epoch: number;
}

/** A call on the way, and where it is made. */
export interface Step {
  readonly stop: Stop;
  readonly leg: Leg;
}

const ANY: Wanted = () => true;

/** The way of one request over the upstreams: who comes next, and what was left behind. */
export class Walk {
  readonly #walker: Walker;
  readonly #deps: WalkDeps;
  /** In the order in which they are asked: routing order, but for a `local` that was put off. */
  #ids: readonly UpstreamId[] = UPSTREAM_IDS;
  /** Those reached so far. */
  #stops: Stop[] = [];
  #isEnded = false;
  #isLocalTold = false;
  /** `local` was passed by for being slow; it is asked should nobody else serve. */
  #isPutOff = false;

  constructor(walker: Walker, deps: WalkDeps) {
    this.#walker = walker;
    this.#deps = deps;
  }

  /** The next call in routing order; null once everybody has been asked, or nobody else may be. */
  next(door: Door = 'enter', wanted: Wanted = ANY): Step | null {
    if (this.#isEnded) return null;
    for (const [index, id] of this.#ids.entries()) {
      const stop = (this.#stops[index] ??= this.#stopAt(id));
      const leg = stop.next(door, wanted);
      if (leg !== null) return { stop, leg };
      this.#tellOfLocal(stop);
    }
    if (!this.#isPutOff || door !== 'enter') return null;
    this.#comeBack();
    return this.next(door, wanted);
  }

  /** Nobody else could serve: then a slow `local` is better than none, and it comes last. */
  #comeBack(): void {
    this.#isPutOff = false;
    this.#ids = [...this.#ids.slice(1), 'local'];
    this.#stops = [...this.#stops.slice(1), this.#localStop()];
  }

  /** Whether somebody who has not been asked yet may be, among those that `may` names. */
  hasMore(may: (id: UpstreamId) => boolean): boolean {
    const { remotes, call } = this.#walker;
    const stopOf = (id: UpstreamId) => this.#stops[this.#ids.indexOf(id)];
    const isAhead = (id: UpstreamId) => stopOf(id)?.hasMore() ?? true;
    const isLocalAhead = this.#isPutOff || stopOf('local')?.hasMore() === true;
    return (
      (may('local') && isLocalAhead) ||
      (!call.zeroSpend && remotes.some(({ id }) => may(id) && isAhead(id)))
    );
  }

  /**
   * The next call that need not be made, to one that `may` names. Those whose circuit is not closed are
   * passed by: their turn may still come.
   */
  hedge(may: (id: UpstreamId) => boolean): Step | null {
    return this.next('enterClosed', ({ upstream }) => may(upstream));
  }

  /** A call to an upstream that is out, because somebody must be asked; null while its probe is out already. */
  anyway(id: UpstreamId): Step | null {
    const stop = id === 'local' ? this.#localStop() : this.#stopAt(id);
    const leg = stop.next('enterAnyway', ANY);
    return leg === null ? null : { stop, leg };
  }

  failed({ stop, leg }: Step, failure: Failure): void {
    stop.failed(leg, failure);
    if (failure.fallBack) this.#tellOfLocal(stop);
    else this.#isEnded = true;
  }

  /** An answer that had begun broke off. */
  broken({ stop }: Step): void {
    stop.broken();
    this.#tellOfLocal(stop);
  }

  /** No more is asked of those before `step`, whose call answers; without one, of nobody. */
  close(step: Step | null): void {
    for (const stop of this.#stops) {
      if (stop === step?.stop) return;
      stop.close();
    }
  }

  /** What was left, in the order of asking, up to the one that answers. */
  left(until: Step | null): readonly Left[] {
    const end = until === null ? -1 : this.#stops.indexOf(until.stop);
    const passed = end === -1 ? this.#stops : this.#stops.slice(0, end + 1);
    return passed.flatMap((stop) => stop.left(until?.leg ?? null));
  }

  #tellOfLocal(stop: Stop): void {
    if (this.#isLocalTold || this.#isPutOff || stop.upstream !== 'local') return;
    if (!stop.isLost()) return;
    this.#isLocalTold = true;
    this.#deps.localLost(stop.left(null));
  }

  #stopAt(id: UpstreamId): Stop {
    if (id === 'local') {
      this.#isPutOff = isLocalTooSlow(this.#walker, this.#deps);
      return this.#isPutOff ? new SkippedStop(id, 'predicted_slow') : this.#localStop();
    }
    const { call, remotes, epoch } = this.#walker;
    const upstream = remotes.find((remote) => remote.id === id);
    if (upstream === undefined) return new SkippedStop(id, 'not_configured');
    if (call.zeroSpend) return new SkippedStop(id, 'zero_spend');
    return new SingleStop(remoteCall(call, upstream), this.#deps.circuits, epoch);
  }

  #localStop(): Stop {
    const { call, config, epoch } = this.#walker;
    const choice = this.#deps.pickLocal();
    switch (choice.kind) {
      case 'none':
        return new SkippedStop('local', choice.reason);
      case 'tier':
        return tierStop(choice.targets, this.#walker, this.#deps);
      case 'target':
        return new SingleStop(
          localCall(call, choice.target, config, 1),
          this.#deps.circuits,
          epoch,
        );
    }
  }
}
