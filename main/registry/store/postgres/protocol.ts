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

export type PoolRequest =
  | StoreRequest
  /** Granted only to who knows the last result on `subject`, a provider. */
  | {
      readonly kind: 'lease';
      readonly id: number;
      readonly name: string;
      readonly subject: { readonly id: string; readonly fence: number } | null;
    }
  | { readonly kind: 'release'; readonly name: string }
  /** What the others are told of this gateway when it meets them next. */
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
  readonly all: readonly string[] | null;
}

export interface Removed {
  readonly kind: 'provider' | 'enrollment' | 'document';
  /** The name of a document. */
  readonly id: string;
}

export interface PoolProvider {
  readonly provider: StoredProvider;
  /** Since its last heartbeat, by the clock of the database; null before the first. */
  readonly ageMs: number | null;
  /** The record is left out, because this run of this gateway wrote it. */
  readonly isOwnReport: boolean;
}

export interface PoolStanding {
  readonly database: 'connected' | 'away';
  /** For people; null while it is connected. */
  readonly problem: string | null;
  /** As of the last look at the database. */
  readonly gateways: readonly GatewayStanding[];
}

/** What a gateway does for its pool. */
export interface GatewayFigures {
  /** Those whose last heartbeat came to it. */
  readonly machines: number;
  /** Chat requests under way, and all since it was set up. */
  readonly in_flight: number;
  readonly requests: number;
}

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
