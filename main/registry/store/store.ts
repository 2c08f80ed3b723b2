import type { WriteOutcome } from '../../platform/database/client.ts';
import { z } from 'zod';
import { agentRecordSchema, providerEventSchema, providerSchema } from '#shared/provider.ts';

/** Range of a Date (ECMA-262, 21.4.1.1). */
const wallMs = z.int().min(0).max(8.64e15);
const count = z.int().nonnegative();

/** The result of the last verification run, with what scheduling needs. */
const verificationSchema = z
  .object({
    state: z.enum(['verified', 'pending', 'failed']),
    checks: providerSchema.shape.verification.shape.checks.readonly(),
    lastCheckAt: wallMs.nullable(),
    /** When a test inference last passed. */
    lastInferenceAt: wallMs.nullable(),
    /** Consecutive failed runs. */
    failedRuns: count,
    /**
     * Where routing reaches the machine, as in `http://192.168.1.20:3001`; null if it must not. A `pending` machine keeps
     * it while only its models have changed since it was verified.
     */
    address: z.string().nullable(),
    /** The `owned_by` of its model, which identifies the engine; left out while unknown. */
    ownedBy: z.string().exactOptional(),
  })
  .readonly();

export type StoredVerification = z.infer<typeof verificationSchema>;

/** The verification before the first run, and after a change that invalidates the last one. */
export const UNVERIFIED: StoredVerification = {
  state: 'pending',
  checks: [],
  lastCheckAt: null,
  lastInferenceAt: null,
  failedRuns: 0,
  address: null,
};

/**
 * A provider as stored. Times are wall-clock ms since the epoch. A record or verification that cannot be read is treated
 * as missing: the next heartbeat and check restore it, while a lost enrolment would need a person.
 */
export const storedProviderSchema = z
  .object({
    id: z.string().min(1),
    /** The 32 raw bytes of the ed25519 public key, base64url. */
    publicKey: z.string().min(1),
    /** Salt of the agent's bearer token, which is HMAC(gateway secret, id + salt): the database holds no secret. */
    tokenSalt: z.string().min(1),
    enrolledAt: wallMs,
    /** The highest sequence accepted. */
    sequence: count,
    lastHeartbeatAt: wallMs.nullable(),
    lastHeartbeatIp: z.string(),
    heartbeatCount: count,
    /** As last sent; null before the first heartbeat. */
    record: agentRecordSchema.nullable().catch(null),
    verification: verificationSchema.catch(UNVERIFIED),
    /** The owner's name and note for it; no agent sends them. */
    note: z.object({ name: z.string(), note: z.string() }).readonly().nullable().catch(null),
  })
  .readonly();

export type StoredProvider = z.infer<typeof storedProviderSchema>;

/** An unused enrolment token; only its digest is stored. */
export interface StoredEnrollment {
  /** Hex SHA-256 of the token. */
  readonly digest: string;
  readonly expiresAt: number;
}

export const storedEventSchema = z
  .object({
    providerId: z.string(),
    at: wallMs,
    kind: providerEventSchema.shape.kind,
    text: z.string(),
  })
  .readonly();

export type StoredEvent = z.infer<typeof storedEventSchema>;

/**
 * `changed`: a heartbeat after which the machine must be verified again. `own`: anything of the machine that the gateway
 * runs on, which no other gateway writes.
 */
export type ProviderPart = 'enrolled' | 'heartbeat' | 'changed' | 'verification' | 'note' | 'own';

/** Newest events kept for each provider. */
export const EVENTS_KEPT = 50;

/** The changes of one `write` are applied together or not at all. */
export type StoreChange =
  /** `part` is what has changed; a shared database keeps the rest as others wrote it. */
  | { readonly kind: 'provider'; readonly provider: StoredProvider; readonly part: ProviderPart }
  | { readonly kind: 'provider_removed'; readonly id: string }
  /** Also drops those that have expired by `nowMs`; a shared database goes by its own clock. */
  | { readonly kind: 'enrollment'; readonly enrollment: StoredEnrollment; readonly nowMs: number }
  /** This write uses the token; if another gateway was faster, the whole write is refused. */
  | { readonly kind: 'enrollment_used'; readonly digest: string }
  | { readonly kind: 'event'; readonly event: StoredEvent };

export interface StoredState {
  readonly providers: readonly StoredProvider[];
  readonly enrollments: readonly StoredEnrollment[];
  /** Of all providers; 0 if there is none. */
  readonly lastEventAt: number;
}

/** Persistence of the registry: this gateway's own database, or a PostgreSQL that several gateways share. */
export interface Store {
  /** Resolves once all changes are on disk; changes that arrive in the meantime share the next transaction. */
  write(changes: readonly StoreChange[]): Promise<WriteResult>;
  /** Newest first. */
  events(providerId: string): Promise<readonly StoredEvent[]>;
  /** Writes what is queued first. */
  close(): Promise<void>;
  /** Left out where no other gateway writes the store. */
  readonly shared?: SharedStore;
}

/** What a store that several gateways write does in addition. */
export interface SharedStore {
  /** Why the database cannot be used now, for people; null if it can. */
  problem(): string | null;
  /** Tells `follower` everything, then what other gateways change, and everything again after a gap. */
  follow(follower: StoreFollower): void;
  /** Tells the follower of one provider; resolves once that was tried. */
  refresh(id: string): Promise<void>;
  /** Null if another gateway may verify a provider now; else none may until the release, or for the time of a run. */
  lease(id: string): Promise<(() => void) | null>;
}

export interface StoreFollower {
  /** The ids of all that exist: all else was removed. */
  all(ids: readonly string[]): void;
  /** `stored` is null if it was removed. */
  provider(id: string, stored: SharedProvider | null): void;
}

export interface SharedProvider {
  readonly provider: StoredProvider;
  /** Since its last heartbeat, by the clock of the database; 0 before the first. */
  readonly ageMs: number;
}

export type WriteResult = WriteOutcome | StoreRefusal;

/** The write conflicts with what another gateway has written. */
export interface StoreRefusal {
  readonly kind: 'refused';
  /** The last sequence, where that of a heartbeat is not above it. */
  readonly last: number | null;
}

export interface OpenedStore {
  readonly store: Store;
  readonly state: StoredState;
  /** For the owner, human-readable; null if there is nothing to say. */
  readonly notice: string | null;
}

/**
 * Stands for a store that cannot be opened: this machine's own agent and routing go on in memory. Nothing is acknowledged,
 * because a machine whose enrolment is acknowledged and then forgotten would stay out unnoticed.
 */
export function refusingStore(message: string): OpenedStore {
  return {
    store: {
      write: () => Promise.resolve({ kind: 'unwritten', message }),
      events: () => Promise.resolve([]),
      close: () => Promise.resolve(),
    },
    state: { providers: [], enrollments: [], lastEventAt: 0 },
    notice: message,
  };
}
