import type { PoolAnswer, PoolUpdate } from '#shared/pool-update.ts';
import type { StoreReply, StoreRequest } from '../protocol.ts';
import type { StoredEnrollment, StoredProvider } from '../store.ts';
import type { PoolTimes } from './times.ts';

/* Messages between the registry's thread and that of a shared database, including those of `../protocol.ts`. */

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
  /** Identifies this run. */
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
      readonly subject: { readonly id: string; readonly fence: number } | null;
    }
  | { readonly kind: 'release'; readonly name: string }
  /** What the others are told about this gateway at the next exchange. */
  | { readonly kind: 'figures'; readonly figures: GatewayFigures }
  /** Reads at once what others have written. */
  | { readonly kind: 'refresh'; readonly id: number }
  /** Sends news to the other gateways, and receives theirs. */
  | { readonly kind: 'exchange'; readonly id: number; readonly update: PoolUpdate };

export type PoolReply =
  | StoreReply
  | { readonly kind: 'changes'; readonly changes: PoolChanges }
  | { readonly kind: 'status'; readonly status: PoolStatus }
  /** Null: another gateway holds the lease, or has newer data. */
  | { readonly kind: 'leased'; readonly id: number; readonly fence: number | null }
  /** The lease could not be renewed in time. */
  | { readonly kind: 'lost'; readonly name: string }
  | { readonly kind: 'refreshed'; readonly id: number }
  | { readonly kind: 'exchanged'; readonly id: number; readonly answer: PoolAnswer | null }
  /** Another gateway has sent news. */
  | { readonly kind: 'news' };

/** What has changed in the database, including this gateway's own changes. */
export interface PoolChanges {
  readonly providers: readonly PoolProvider[];
  readonly enrollments: readonly StoredEnrollment[];
  /** By name. */
  readonly documents: Readonly<Record<string, string>>;
  readonly removed: readonly Removed[];
  /** All existing ids, after a gap too long to know what was removed during it; null otherwise. */
  readonly all: { readonly ids: readonly string[]; readonly revision: number } | null;
}

export interface Removed {
  readonly kind: 'provider' | 'enrollment' | 'document';
  /** The name of a document. */
  readonly id: string;
  readonly revision: number;
}

export interface PoolProvider {
  readonly provider: StoredProvider;
  /** Time since its last heartbeat, by the clock of the database; null before the first. */
  readonly ageMs: number | null;
  /** The record is left out, because this run of this gateway wrote it. */
  readonly isOwnReport: boolean;
  /** The revision of its last change. */
  readonly revision: number;
}

export interface PoolStatus {
  readonly database: 'connected' | 'away';
  /** Human-readable; null while it is connected. */
  readonly problem: string | null;
  /** As of the last check of the database. */
  readonly gateways: readonly GatewayStatus[];
  /** Of all gateways that were ever in the pool, as of that check. */
  readonly totals: PoolTotals;
}

/** Counts of one gateway since it was set up, or of a whole pool. */
export interface PoolTotals {
  readonly requests: number;
  readonly answers: number;
  readonly fallbacks: number;
  /** Prompt and completion tokens. */
  readonly tokens: number;
}

export const NO_TOTALS: PoolTotals = { requests: 0, answers: 0, fallbacks: 0, tokens: 0 };

/** A gateway's share of its pool's work. */
export interface GatewayFigures extends PoolTotals {
  /** Machines whose last heartbeat was sent to this gateway. */
  readonly machines: number;
  /** Machines that it has verified in this run. */
  readonly verified: number;
  /** Chat requests in progress. */
  readonly in_flight: number;
}

export const NO_FIGURES: GatewayFigures = { ...NO_TOTALS, machines: 0, verified: 0, in_flight: 0 };

export interface GatewayStatus extends GatewayFigures {
  readonly id: string;
  readonly host: string;
  readonly version: string;
  readonly started_at: string;
  /** Time since it last reported to the database. */
  readonly seen_ms: number;
  /** Commits that it had not read at that time. */
  readonly behind: number;
  /** Leases that it holds. */
  readonly leases: number;
}
