import type { PoolReport } from '#shared/status.ts';
import type { Unusable } from '../registry/store/errors.ts';
import type { StoreOpening, StoreReply, StoreRequest } from '../registry/store/open-store.ts';
import type {
  StoreChange,
  StoredEnrollment,
  StoredProvider,
  WriteResult,
} from '../registry/store/store.ts';

/* Messages between the registry's thread and that of a shared database, beside those of any store's. */

export interface PoolWorkerData {
  readonly url: string;
  /** The address without its secrets. */
  readonly shown: string;
  readonly gateway: GatewayInPool;
  /** Reveals gateways that have another secret, but not the secret. */
  readonly secretDigest: string;
  /** Left out: `POOL_TIMES`. */
  readonly times?: PoolTimes;
}

/** How the other gateways identify this one. */
export interface GatewayInPool {
  /** The same across restarts. */
  readonly id: string;
  readonly run: string;
  /** Shown to the owner: host and port. */
  readonly host: string;
  readonly version: string;
}

/** Replies so numerous that they are delivered to the gateway's thread one at a time. */
export type PacedReply = Extract<PoolReply, { readonly kind: 'changes' | 'settled' }>;

export type PoolRequest =
  | StoreRequest
  /** The last reply of that kind was processed. */
  | { readonly kind: 'taken'; readonly what: PacedReply['kind'] }
  /** Granted only to a gateway that knows the last result of `subject`, a provider. */
  | {
      readonly kind: 'lease';
      readonly id: number;
      readonly name: string;
      readonly subject: LeaseSubject | null;
    }
  | { readonly kind: 'release'; readonly name: string }
  | { readonly kind: 'figures'; readonly figures: GatewayFigures }
  | { readonly kind: 'refresh'; readonly id: number }
  | { readonly kind: 'exchange'; readonly id: number; readonly update: PoolUpdate };

/** A provider, with the fence of the last result known here. */
export interface LeaseSubject {
  readonly id: string;
  readonly fence: number;
}

/** Decides which of two results is newer when several gateways write the same provider. */
export interface Stamp {
  /** Rises with each enrolment and material change. */
  readonly generation: number;
  /** The fence of the lease under which the verification was made. */
  readonly fence: number;
}

/** A change as a pool's store is told of it; the stamp of a provider is null while it is unknown. */
export type StampedChange = StoreChange & { readonly stamp?: Stamp | null };

export type PoolWriteResult =
  | Exclude<WriteResult, { readonly kind: 'written' }>
  | { readonly kind: 'written'; readonly revision: number };

/** `stamps`: of the providers, by id. */
export type PoolOpening =
  | (Extract<StoreOpening, { readonly kind: 'open' }> & {
      readonly stamps: ReadonlyMap<string, Stamp>;
    })
  | Unusable;

export type PoolReply =
  | Exclude<StoreReply, { readonly kind: 'opening' }>
  | { readonly kind: 'opening'; readonly opening: PoolOpening }
  | { readonly kind: 'changes'; readonly changes: PoolChanges }
  | { readonly kind: 'status'; readonly status: PoolStatus }
  /** To `lease`: its fence, or null if another gateway holds it or has newer data. To `exchange`: what the others tell. */
  | { readonly kind: 'answered'; readonly id: number; readonly answer: number | PoolAnswer | null }
  /** The lease could not be renewed in time. */
  | { readonly kind: 'lost'; readonly name: string }
  | { readonly kind: 'news' }
  | { readonly kind: 'prefixes'; readonly prefixes: readonly SharedPrefix[] };

/** What has changed in the database, including this gateway's own changes. */
export interface PoolChanges {
  readonly providers: readonly PoolProvider[];
  readonly enrollments: readonly StoredEnrollment[];
  readonly documents: Readonly<Record<string, string>>;
  readonly removed: readonly Removal[];
  /** All existing ids, after a gap too long to know what was removed during it; null otherwise. */
  readonly all: { readonly ids: readonly string[]; readonly revision: number } | null;
}

export interface Removal {
  readonly kind: 'provider' | 'enrollment' | 'document';
  readonly id: string;
  readonly revision: number;
}

export interface PoolProvider {
  readonly provider: StoredProvider;
  readonly stamp: Stamp;
  /** Time since its last heartbeat, by the clock of the database; null before the first. */
  readonly ageMs: number | null;
  /** The record is left out, because this run of this gateway wrote it. */
  readonly isOwnReport: boolean;
  readonly revision: number;
}

/** What is known of the pool, as of the last check of its database. */
export type PoolStatus = Omit<PoolReport, 'gateway'>;

export const NO_TOTALS: PoolReport['totals'] = { requests: 0, answers: 0, fallbacks: 0, tokens: 0 };

export type GatewayFigures = PoolReport['totals'] &
  Pick<PoolReport['gateways'][number], 'machines' | 'verified' | 'in_flight'>;

export const NO_FIGURES: GatewayFigures = { ...NO_TOTALS, machines: 0, verified: 0, in_flight: 0 };

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

/** A prompt that a machine has read, by hashes of its prefixes: the first, the longest that it had before, and all of it. */
export interface SharedPrefix {
  readonly machine: string;
  readonly keys: readonly number[];
  readonly session: number | null;
}

/** In one exchange: they travel in a notification, which holds 8,000 bytes. */
export const MAX_PREFIXES = 64;

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
  /** Those since the last exchange, at most `MAX_PREFIXES`. */
  readonly prefixes: readonly SharedPrefix[];
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

/** How long a shared database is waited for, and how long leases in it last. */
export interface PoolTimes {
  /** A database that takes longer than this to answer counts as away. */
  readonly answerMs: number;
  /** How long the start waits for the database; then the registry starts without it. */
  readonly startMs: number;
  /** How long a lease lasts without renewal, and so how long the work of a dead gateway waits. */
  readonly leaseMs: number;
  /** The holder of a lease stops this much before others may take it. */
  readonly marginMs: number;
}

export const POOL_TIMES: PoolTimes = {
  answerMs: 5000,
  startMs: 10_000,
  leaseMs: 10_000,
  marginMs: 2000,
};

/** Answers to heartbeats that the gateway's thread sends before it turns to requests again; each takes 0.1 ms. */
export const ANSWERS_AT_ONCE = 50;
/**
 * Machines written by other gateways that it applies before it turns to requests again, in a few milliseconds. On busy
 * cores each piece waits for its turn, so smaller pieces would let a gateway fall further behind.
 */
export const MACHINES_AT_ONCE = 125;

export function* piecesOf<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size);
}
