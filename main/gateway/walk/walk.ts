import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { OrderDeps } from '../local/order.ts';
import { tierStop } from '../local/tier.ts';
import type { Failure } from '../outcome/outcomes.ts';
import { soonestFirst, type Left, type Skipped } from '../outcome/trail.ts';
import { isLocalTooSlow, type ForesightDeps } from '../local/foresight.ts';
import { localCall, remoteCall, type ChatCall } from '../request/calls.ts';
import type { LocalTarget, RemoteUpstream } from '../request/upstreams.ts';
import type { Config } from '../../config.ts';
import { SingleStop, SkippedStop, type Door, type Leg, type Stop, type Wanted } from './stop.ts';

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
  /** Machines of the local tier that were asked. */
  readonly #machines = new Set<string>();
  /** The call to one that was out. */
  #soonest: Step | null = null;

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
      if (leg !== null) return this.#stepTo(stop, leg);
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

  /** Whether anybody could still be asked, in turn or although it is out. */
  hasAnybody(): boolean {
    return this.hasMore(() => true) || this.#out().length > 0;
  }

  /**
   * Once nobody else is left: a call to the one that comes back first of those that are out for a while, or
   * of the machines in the local tier that are. Only one is given out, for a lost answer is worth one wait.
   */
  soonest(wanted: Wanted = ANY): Step | null {
    for (const { upstream } of this.#out()) {
      const stop = upstream === 'local' ? this.#localStop() : this.#stopAt(upstream);
      const leg = stop.next('enterAnyway', wanted);
      // Its probe may be out already, for another request.
      if (leg !== null) return (this.#soonest = this.#stepTo(stop, leg));
    }
    return null;
  }

  #out(): readonly Skipped[] {
    if (this.#isEnded || this.#soonest !== null) return [];
    const rest = this.#machines.size === 0 ? [] : this.#localStop().left(null);
    return soonestFirst([...this.left(null), ...rest]);
  }

  #stepTo(stop: Stop, leg: Leg): Step {
    if (leg.call.provider !== null) this.#machines.add(leg.call.provider);
    return { stop, leg };
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
    if (step === null) this.#soonest?.stop.close();
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

  #notAsked(targets: readonly LocalTarget[]): readonly LocalTarget[] {
    // The same list where nobody was asked: what is known of its models goes with it.
    if (this.#machines.size === 0) return targets;
    return targets.filter(({ provider }) => provider === null || !this.#machines.has(provider));
  }

  #localStop(): Stop {
    const { call, config, epoch } = this.#walker;
    const choice = this.#deps.pickLocal();
    switch (choice.kind) {
      case 'none':
        return new SkippedStop('local', choice.reason);
      case 'tier':
        return tierStop(this.#notAsked(choice.targets), this.#walker, this.#deps);
      case 'target':
        return new SingleStop(
          localCall(call, choice.target, config, 1),
          this.#deps.circuits,
          epoch,
        );
    }
  }
}
