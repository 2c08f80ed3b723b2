import { hash } from 'node:crypto';
import type { Clock } from '../platform/clock.ts';
import { isoTime } from '../platform/dates.ts';
import { newSecret } from '../platform/secrets.ts';
import { type Answer, answered, type Refusal, unwritten } from './responses.ts';
import type { Store, StoredEnrollment } from './store/store.ts';

/** Shown to the owner once. */
export interface NewEnrollment {
  readonly token: string;
  readonly expires_at: string;
  /** The command line to run on the other machine. */
  readonly join: string;
}

/** Tokens that were issued but not used yet. */
export interface OpenEnrollments {
  /** `addresses`: where the other machine reaches this gateway or its pool. */
  create(addresses: readonly string[]): Promise<Answer<NewEnrollment>>;
  /** Takes a token, so that nobody else can use it; null if it is unknown or expired. */
  take(token: string): StoredEnrollment | null;
  /** Returns a token after an enrolment that failed, or adds one that another gateway issued. */
  putBack(enrollment: StoredEnrollment): void;
  /** Drops a token that another gateway has taken. */
  drop(digest: string): void;
}

const LIFETIME_MS = 3_600_000;
/** Nobody adds this many machines in an hour; a client in a loop must not fill the disk. */
const MAX_OPEN = 1000;

const TOO_MANY: Refusal = {
  kind: 'refused',
  status: 429,
  code: 'too_many_enrollments',
  message: `There are ${MAX_OPEN} unused enrolment tokens; each expires after an hour.`,
  retryAfterMs: 60_000,
};

export function createOpenEnrollments(
  kept: readonly StoredEnrollment[],
  { store, clock }: { readonly store: Pick<Store, 'write'>; readonly clock: Clock },
): OpenEnrollments {
  const open = new Map(kept.map((each) => [each.digest, each]));

  function takeExpired(): string[] {
    const digests = [...open.values()]
      .filter(({ expiresAt }) => expiresAt <= clock.now())
      .map(({ digest }) => digest);
    for (const digest of digests) open.delete(digest);
    return digests;
  }

  return {
    async create(addresses) {
      const expired = takeExpired();
      if (open.size >= MAX_OPEN) return TOO_MANY;
      const token = newSecret();
      const enrollment = { digest: digestOf(token), expiresAt: clock.now() + LIFETIME_MS };
      // Counted at once, so that concurrent requests do not exceed the limit.
      open.set(enrollment.digest, enrollment);
      const written = await store.write([
        ...expired.map((digest) => ({ kind: 'enrollment_removed', digest }) as const),
        { kind: 'enrollment', enrollment },
      ]);
      if (written.kind === 'unwritten') {
        open.delete(enrollment.digest);
        return unwritten(written.message);
      }
      const expires_at = isoTime(enrollment.expiresAt);
      return answered(
        { token, expires_at, join: `switchyard join ${addresses.join(',')} ${token}` },
        201,
      );
    },
    take(token) {
      const enrollment = open.get(digestOf(token));
      if (enrollment === undefined || enrollment.expiresAt <= clock.now()) return null;
      open.delete(enrollment.digest);
      return enrollment;
    },
    putBack: (enrollment) => void open.set(enrollment.digest, enrollment),
    drop: (digest) => void open.delete(digest),
  };
}

function digestOf(token: string): string {
  return hash('sha256', token, 'hex');
}
