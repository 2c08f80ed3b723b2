import type { PoolHeard, PoolTold } from '#shared/pool-news.ts';
import type { StoreReply, StoreRequest } from '../protocol.ts';
import type { StoredEnrollment, StoredProvider } from '../store.ts';
import type { PoolTimes } from './times.ts';

/* Messages between the registry's thread and that of a shared database; those of `../protocol.ts` are among them. */

export interface PoolWorkerData {
  readonly url: string;
  /** The address as it may be shown. */
  readonly shown: string;
  readonly gateway: GatewayInPool;
  /** Tells gateways that have another secret, without telling the secret. */
  readonly secretDigest: string;
  /** Left out: `POOL_TIMES`. */
  readonly times?: PoolTimes;
}

/** Who this gateway is to the others. */
export interface GatewayInPool {
  /** The same across restarts. */
  readonly id: string;
  /** Of this run alone. */
  readonly run: string;
  /** For people: host and port. */
  readonly host: string;
  readonly version: string;
}

/** Replies that come in such numbers that the gateway's thread takes them one at a time. */
export type PacedReply = Extract<PoolReply, { readonly kind: 'changes' | 'settled' }>;

export type PoolRequest =
  | StoreRequest
  /** The last reply of that kind was taken. */
  | { readonly kind: 'taken'; readonly what: PacedReply['kind'] }
  /** Granted only to who knows the last result on `subject`, a provider. */
  | {
      readonly kind: 'lease';
      readonly id: number;
      readonly name: string;
      readonly subject: { readonly id: string; readonly fence: number } | null;
    }
  | { readonly kind: 'release'; readonly name: string }
  /** What the others are told of this gateway at the next exchange. */
  | { readonly kind: 'figures'; readonly figures: GatewayFigures }
  /** Reads what others have written now instead of soon. */
  | { readonly kind: 'refresh'; readonly id: number }
  /** Tells the other gateways, and hears of them. */
  | { readonly kind: 'tell'; readonly id: number; readonly told: PoolTold };

export type PoolReply =
  | StoreReply
  | { readonly kind: 'changes'; readonly changes: PoolChanges }
  | { readonly kind: 'standing'; readonly standing: PoolStanding }
  /** Null: another gateway has it, or knows more. */
  | { readonly kind: 'leased'; readonly id: number; readonly fence: number | null }
  /** It could not be renewed in time. */
  | { readonly kind: 'lost'; readonly name: string }
  | { readonly kind: 'refreshed'; readonly id: number }
  | { readonly kind: 'heard'; readonly id: number; readonly heard: PoolHeard | null }
  /** Another gateway has told something. */
  | { readonly kind: 'news' };

/** What has changed in the database, this gateway's own changes among it. */
export interface PoolChanges {
  readonly providers: readonly PoolProvider[];
  readonly enrollments: readonly StoredEnrollment[];
  /** By name. */
  readonly documents: Readonly<Record<string, string>>;
  readonly removed: readonly Removed[];
  /** All ids there are, after a gap too long to know what was removed in it; null otherwise. */
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
  /** Since its last heartbeat, by the clock of the database; null before the first. */
  readonly ageMs: number | null;
  /** The record is left out, because this run of this gateway wrote it. */
  readonly isOwnReport: boolean;
  /** Of its last change. */
  readonly revision: number;
}

export interface PoolStanding {
  readonly database: 'connected' | 'away';
  /** For people; null while it is connected. */
  readonly problem: string | null;
  /** As of the last look at the database. */
  readonly gateways: readonly GatewayStanding[];
  /** Of all gateways that ever were in the pool, as of then. */
  readonly totals: PoolTotals;
}

/** What a gateway has counted since it was set up, or all of a pool. */
export interface PoolTotals {
  readonly requests: number;
  readonly answers: number;
  readonly fallbacks: number;
  /** Of prompts and answers. */
  readonly tokens: number;
}

export const NO_TOTALS: PoolTotals = { requests: 0, answers: 0, fallbacks: 0, tokens: 0 };

/** What a gateway does for its pool. */
export interface GatewayFigures extends PoolTotals {
  /** Those whose last heartbeat came to it. */
  readonly machines: number;
  /** Those in good standing by a verdict that it made, in this run. */
  readonly verified: number;
  /** Chat requests under way. */
  readonly in_flight: number;
}

export const NO_FIGURES: GatewayFigures = { ...NO_TOTALS, machines: 0, verified: 0, in_flight: 0 };

export interface GatewayStanding extends GatewayFigures {
  readonly id: string;
  readonly host: string;
  readonly version: string;
  readonly started_at: string;
  /** Since it last reported to the database. */
  readonly seen_ms: number;
  /** Commits that it had not read then. */
  readonly behind: number;
  /** Leases that it holds. */
  readonly leases: number;
}
