import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import { digestOf, isOneOf, isSecretShaped, newSecret } from '../../platform/secrets.ts';
import type { StateFile } from '../../platform/files.ts';

/** Control sessions: a page exchanges the one-time code in its address for a token. */
export type Sessions = ReturnType<typeof createSessions>;

interface Credential {
  readonly digest: Buffer;
  /** Milliseconds since the epoch: a session outlives the process. */
  readonly until: number;
}

const CODE_MS = 600_000;
const SESSION_MS = 7 * 86_400_000;
/** Limit for codes and for sessions each; beyond it, the oldest is removed. */
const MAX_CREDENTIALS = 100;

const sessionsSchema = z.strictObject({
  version: z.literal(1),
  sessions: z.array(z.strictObject({ digest: z.string().length(64), until: z.int() })),
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
  const codes: Credential[] = [];
  const valid = (credentials: readonly Credential[]) =>
    credentials.filter(({ until }) => clock.now() < until);
  const digests = (credentials: readonly Credential[]) =>
    valid(credentials).map(({ digest }) => digest);
  const file = keep(() => ({
    version: 1,
    sessions: valid(sessions).map(({ digest, until }) => ({
      digest: digest.toString('hex'),
      until,
    })),
  }));
  const sessions: Credential[] = readSessions(file.load(), clock.now());

  function issue(credentials: Credential[], lifetimeMs: number): string {
    const secret = newSecret();
    credentials.push({ digest: digestOf(secret), until: clock.now() + lifetimeMs });
    if (credentials.length > MAX_CREDENTIALS) credentials.shift();
    return secret;
  }

  return {
    newCode: () => issue(codes, reusesCodes ? SESSION_MS : CODE_MS),
    /** A session token, once it is on disk; null if the code is unknown, used or expired. */
    async redeem(code: string): Promise<string | null> {
      if (!isOneOf(code, digests(codes))) return null;
      const used = digestOf(code);
      const at = codes.findIndex(({ digest }) => digest.equals(used));
      if (!reusesCodes) codes.splice(at, 1);
      const token = issue(sessions, SESSION_MS);
      file.changed();
      await file.flush();
      return token;
    },
    isSession: (token: string) => isSecretShaped(token) && isOneOf(token, digests(sessions)),
  };
}

/** None lasts longer than a new one, whatever the clock was when it was saved. */
function readSessions(saved: unknown, now: number): Credential[] {
  const known = sessionsSchema.safeParse(saved).data?.sessions ?? [];
  return known.slice(-MAX_CREDENTIALS).map(({ digest, until }) => {
    return { digest: Buffer.from(digest, 'hex'), until: Math.min(until, now + SESSION_MS) };
  });
}

/** Browsers that keep control across restarts, until they are forgotten or unused for 90 days. */
export type Browsers = ReturnType<typeof createBrowsers>;

const browserSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  digest: z.string().length(64),
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
  const known = new Map<string, { about: Browser; readonly digest: Buffer }>();
  const file = keep(() => ({
    version: 1,
    browsers: [...known.values()].map(({ about, digest }) => ({
      ...about,
      digest: digest.toString('hex'),
    })),
  }));
  for (const { digest, ...about } of schema.safeParse(file.load()).data?.browsers ?? []) {
    known.set(about.id, { about, digest: Buffer.from(digest, 'hex') });
  }

  const current = () =>
    [...known.values()].filter(({ about }) => clock.now() - about.seenAt < UNUSED_MS);
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
      known.set(id, { about, digest: digestOf(token) });
      const oldest = known.keys().next();
      if (known.size > MAX_BROWSERS && !oldest.done) known.delete(oldest.value);
      await write();
      return { id, token };
    },
    isRemembered(token: string) {
      if (known.size === 0 || !isSecretShaped(token)) return false;
      const found = current().find(({ digest }) => isOneOf(token, [digest]));
      if (found === undefined) return false;
      if (clock.now() - found.about.seenAt >= SEEN_MS) {
        found.about = { ...found.about, seenAt: clock.now() };
        file.changed();
      }
      return true;
    },
    list: () => current().map(({ about }) => about),
    /** False if no browser has this id. Resolves once the change is on disk. */
    async forget(id: string) {
      if (!known.delete(id)) return false;
      await write();
      return true;
    },
  };
}
