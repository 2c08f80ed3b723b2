/* What gateways of a pool send each other, at once or within a second, in addition to the machines in their database. */

/** An exclusion. Times are durations, because the clocks of machines differ. */
export interface SharedSkip {
  readonly reason: string;
  /** The model of a `model_not_found`. */
  readonly model?: string | undefined;
  readonly leftMs: number;
}

/** What a gateway has learnt about an upstream or a machine. */
export interface SharedCircuit {
  /** An upstream has a different name at gateways where its address or key differs. */
  readonly name: string;
  /** Null: closed. */
  readonly cooldown: {
    readonly leftMs: number;
    readonly openings: number;
    readonly error: string | null;
  } | null;
  readonly skips: readonly SharedSkip[];
  /** Manual resets since the pool first recorded it. */
  readonly resets: number;
}

export interface PoolUpdate {
  /** `base` is the version that was changed: if another gateway has changed it since, the change is rejected. */
  readonly circuits: readonly (SharedCircuit & { readonly base: number })[];
  /** The last version received. */
  readonly since: number;
  /** Running requests by machine id; idle machines are left out. */
  readonly inFlight: Readonly<Record<string, number>>;
  /** Names of circuits for which this gateway holds, or requests, the right to probe. */
  readonly claims: readonly string[];
  /** Names of circuits for which it gives up the right. */
  readonly released: readonly string[];
}

export interface PoolAnswer {
  /** The circuits that have changed; `isOwn`: changed by this gateway. */
  readonly circuits: readonly (SharedCircuit & {
    readonly version: number;
    readonly isOwn: boolean;
  })[];
  /** The sum over all other gateways that are online. */
  readonly inFlight: Readonly<Record<string, number>>;
  /** The rights that this gateway holds now, for `CLAIM_MS`; `isWanted`: another gateway has requested it as well. */
  readonly claims: readonly { readonly name: string; readonly isWanted: boolean }[];
}

/** How long the right to probe lasts unless it is renewed. */
export const CLAIM_MS = 4000;

/** The connection to the other gateways. */
export interface PoolPort {
  /** Id of this gateway, the same in all its runs. */
  readonly gateway: string;
  /** Null if the database is away. */
  exchange(update: PoolUpdate): Promise<PoolAnswer | null>;
  isAway(): boolean;
  /** Called when another gateway has sent something. */
  onNews(listener: () => void): void;
  /** The same at all gateways of the pool; does not reveal `text`. */
  digest(text: string): string;
}
