import type { AgentRecord, Check, ProviderEvent, VerificationState } from '#shared/provider.ts';

/** What the registry keeps of a provider; everything else is computed from it. Times: wall-clock ms since the epoch. */
export interface StoredProvider {
  readonly id: string;
  /** The 32 raw bytes of the ed25519 public key, base64url. */
  readonly publicKey: string;
  /** Public half of the bearer towards this agent: the token is HMAC(gateway secret, id + salt), so that no secret is in the database. */
  readonly tokenSalt: string;
  readonly enrolledAt: number;
  /** Highest sequence accepted. */
  readonly sequence: number;
  /** The record as last sent; null before the first heartbeat. */
  readonly record: AgentRecord | null;
  readonly lastHeartbeatAt: number | null;
  readonly lastHeartbeatIp: string;
  readonly heartbeatCount: number;
  readonly verification: StoredVerification;
}

/** The outcome of the last verification run, and what scheduling needs to know. */
export interface StoredVerification {
  readonly state: Exclude<VerificationState, 'verifying'>;
  readonly checks: readonly Check[];
  readonly lastCheckAt: number | null;
  /** When a test inference last passed. */
  readonly lastInferenceAt: number | null;
  /** Failed runs in a row. */
  readonly failedRuns: number;
  /** Where routing reaches it, as in `http://192.168.1.20:3001`; null before it was verified. */
  readonly address: string | null;
  /** The `owned_by` of its model, by which an engine gives itself away; left out while unknown. */
  readonly ownedBy?: string;
}

/** An enrolment token that was not used yet; only its digest is kept. */
export interface StoredEnrollment {
  /** Hex SHA-256 of the token. */
  readonly digest: string;
  readonly expiresAt: number;
}

export interface StoredEvent {
  readonly providerId: string;
  readonly at: number;
  readonly kind: ProviderEvent['kind'];
  readonly text: string;
}

/** One change to what is kept; all changes of one `write` happen together or not at all. */
export type Change =
  | { readonly kind: 'provider'; readonly provider: StoredProvider }
  | { readonly kind: 'provider_removed'; readonly id: string }
  | { readonly kind: 'enrollment'; readonly enrollment: StoredEnrollment }
  | { readonly kind: 'enrollment_removed'; readonly digest: string }
  | { readonly kind: 'event'; readonly event: StoredEvent }
  /** Any other JSON document, such as circuits and counters. */
  | { readonly kind: 'document'; readonly name: string; readonly json: string };

/** Everything that was kept. */
export interface StoredState {
  readonly providers: readonly StoredProvider[];
  readonly enrollments: readonly StoredEnrollment[];
  readonly documents: Readonly<Record<string, string>>;
}

/** What keeps the registry over a restart: SQLite in a thread of its own, or a server some day. */
export interface Store {
  /** Resolves once all changes are on disk; changes that come meanwhile go into the next transaction together. */
  write(changes: readonly Change[]): Promise<WriteResult>;
  /** A provider's history, newest first. */
  events(providerId: string, limit: number): Promise<readonly StoredEvent[]>;
  /** Writes what is left and closes the file. */
  close(): Promise<void>;
}

/** A disk that is full, read-only or locked is an answer, not an exception: the gateway keeps routing. */
export type WriteResult =
  { readonly kind: 'written' } | { readonly kind: 'unwritten'; readonly message: string };
