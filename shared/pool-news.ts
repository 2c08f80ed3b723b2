/* What gateways of a pool tell each other, at once or within a second, beside the machines that their database holds. */

/** An exclusion. Times are durations, because the clocks of machines differ. */
export interface SharedSkip {
  readonly reason: string;
  /** Of `model_not_found`. */
  readonly model?: string | undefined;
  readonly leftMs: number;
}

/** What a gateway has learnt of an upstream or a machine. */
export interface SharedCircuit {
  /** Gateways whose upstream has another address or key know it by another name. */
  readonly name: string;
  /** Null: closed. */
  readonly cooldown: {
    readonly leftMs: number;
    readonly openings: number;
    readonly error: string | null;
  } | null;
  readonly skips: readonly SharedSkip[];
  /** By people, since the pool knows it. */
  readonly resets: number;
}

export interface PoolTold {
  /** `base` is the version that was changed: where another gateway has changed it since, the change is not taken. */
  readonly circuits: readonly (SharedCircuit & { readonly base: number })[];
  /** The last version heard of. */
  readonly since: number;
  /** Requests at machines, by id; those at none are left out. */
  readonly inFlight: Readonly<Record<string, number>>;
  /** Names of circuits that this gateway has the right to probe, or asks for. */
  readonly claims: readonly string[];
  /** Names whose right it gives back. */
  readonly released: readonly string[];
}

export interface PoolHeard {
  /** Those that have changed; `isOwn`: by this gateway. */
  readonly circuits: readonly (SharedCircuit & {
    readonly version: number;
    readonly isOwn: boolean;
  })[];
  /** Of all other gateways that are there, together. */
  readonly inFlight: Readonly<Record<string, number>>;
  /** The rights that this gateway has now, for `CLAIM_MS`; `isWanted`: another one has asked as well. */
  readonly claims: readonly { readonly name: string; readonly isWanted: boolean }[];
}

/** How long the right to probe lasts that is not renewed. */
export const CLAIM_MS = 4000;

/** The way to the other gateways. */
export interface PoolPort {
  /** This gateway, over all its runs. */
  readonly gateway: string;
  /** Null if the database is away. */
  tell(told: PoolTold): Promise<PoolHeard | null>;
  isAway(): boolean;
  /** Called when another gateway has told something. */
  onNews(listener: () => void): void;
  /** The same at all gateways of the pool; keeps `text` to itself. */
  digest(text: string): string;
}
