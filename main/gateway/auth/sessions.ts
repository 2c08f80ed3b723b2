import { z } from 'zod';
import { SIGN_IN_LINK } from '#shared/lifetimes.ts';
import type { Clock } from '../../platform/clock.ts';
import { digestOf, isSecretShaped, newSecret } from '../../platform/secrets.ts';
import type { StateFile } from '../../platform/files.ts';

/** Control sessions: a page exchanges the one-time code in its address for a token. */
export type Sessions = ReturnType<typeof createSessions>;

/** When each secret ends, by its digest, the oldest first; in ms since the epoch, as a session outlives the process. */
type Credentials = Map<string, number>;

const SESSION_MS = 7 * 86_400_000;
/** Limit for codes and for sessions each; beyond it, the oldest is removed. */
const MAX_CREDENTIALS = 100;

const hexDigest = z.string().length(64);
const sessionsSchema = z.strictObject({
  version: z.literal(1),
  sessions: z.array(z.strictObject({ digest: hexDigest, until: z.int() })),
});

/**
 * Sessions end after a week, and outlive the process: only their digests are on disk. Codes are kept in memory.
 * `reusesCodes`: a code works as often as it is used, for as long as the process runs: for the demo, which nobody has to
 * guard.
 */
export function createSessions(
  clock: Clock,
  keep: (save: () => unknown) => StateFile,
  { reusesCodes = false } = {},
) {
  const codes: Credentials = new Map();
  const sessions: Credentials = new Map();
  const file = keep(() => ({
    version: 1,
    sessions: [...sessions].map(([digest, until]) => ({ digest, until })),
  }));
  // None lasts longer than a new one, whatever the clock was when it was saved.
  const longest = clock.now() + SESSION_MS;
  for (const { digest, until } of sessionsSchema.safeParse(file.load()).data?.sessions ?? [])
    sessions.set(digest, Math.min(until, longest));

  function issue(credentials: Credentials, lifetimeMs: number): string {
    const secret = newSecret();
    credentials.set(digestOf(secret), clock.now() + lifetimeMs);
    dropOldest(credentials, MAX_CREDENTIALS);
    return secret;
  }

  const isValid = (credentials: Credentials, secret: string) =>
    isSecretShaped(secret) && clock.now() < (credentials.get(digestOf(secret)) ?? 0);

  return {
    newCode: () => issue(codes, reusesCodes ? SESSION_MS : SIGN_IN_LINK.ms),
    /** A session token, once it is on disk; null if the code is unknown, used or expired. */
    async redeem(code: string): Promise<string | null> {
      if (!isValid(codes, code)) return null;
      if (!reusesCodes) codes.delete(digestOf(code));
      const token = issue(sessions, SESSION_MS);
      file.changed();
      await file.flush();
      return token;
    },
    isSession: (token: string) => isValid(sessions, token),
  };
}

function dropOldest(kept: Map<string, unknown>, max: number): void {
  const [oldest] = kept.keys();
  if (kept.size > max && oldest !== undefined) kept.delete(oldest);
}

/** Browsers that keep control across restarts, until they are forgotten or unused for 90 days. */
export type Browsers = ReturnType<typeof createBrowsers>;

const browserSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  digest: hexDigest,
  createdAt: z.int(),
  seenAt: z.int(),
});
const schema = z.strictObject({ version: z.literal(1), browsers: z.array(browserSchema) });

type Browser = Readonly<Omit<z.infer<typeof browserSchema>, 'digest'>>;

const MAX_BROWSERS = 50;
const MAX_NAME_LENGTH = 80;
const UNUSED_MS = 90 * 86_400_000;
/** A page calls several times a minute; its last use is written at most this often. */
const SEEN_MS = 3_600_000;

export function createBrowsers(clock: Clock, keep: (save: () => unknown) => StateFile) {
  /** By the digest of its token. */
  const known = new Map<string, Browser>();
  const file = keep(() => ({
    version: 1,
    browsers: [...known].map(([digest, about]) => ({ ...about, digest })),
  }));
  for (const { digest, ...about } of schema.safeParse(file.load()).data?.browsers ?? [])
    known.set(digest, about);

  const isUsed = ({ seenAt }: Browser) => clock.now() - seenAt < UNUSED_MS;
  const write = () => {
    file.changed();
    return file.flush();
  };
  return {
    /** The token is returned once; only its digest is stored. */
    async remember(name: string) {
      const token = newSecret();
      const id = `brw_${newSecret().slice(0, 16)}`;
      const now = clock.now();
      const about = { id, name: name.slice(0, MAX_NAME_LENGTH), createdAt: now, seenAt: now };
      known.set(digestOf(token), about);
      dropOldest(known, MAX_BROWSERS);
      await write();
      return { id, token };
    },
    isRemembered(token: string) {
      if (known.size === 0 || !isSecretShaped(token)) return false;
      const digest = digestOf(token);
      const found = known.get(digest);
      if (found === undefined || !isUsed(found)) return false;
      if (clock.now() - found.seenAt >= SEEN_MS) {
        known.set(digest, { ...found, seenAt: clock.now() });
        file.changed();
      }
      return true;
    },
    list: () => [...known.values()].filter(isUsed),
    /** False if no browser has this id. Resolves once the change is on disk. */
    async forget(id: string) {
      const [digest] = [...known].find(([, about]) => about.id === id) ?? [];
      if (digest === undefined) return false;
      known.delete(digest);
      await write();
      return true;
    },
  };
}
