import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import { digestOf, isOneOf, isSecretShaped, newSecret } from '../../platform/secrets.ts';
import type { StateFile } from '../../platform/state-file.ts';

/** Control sessions: a page exchanges the one-time code in its address for a token. */
export type Sessions = ReturnType<typeof createSessions>;

interface Credential {
  readonly digest: Buffer;
  /** In clock ticks. */
  readonly until: number;
}

const CODE_MS = 600_000;
const SESSION_MS = 7 * 86_400_000;
/** Limit for codes and for sessions each; beyond it, the oldest is removed. */
const MAX_CREDENTIALS = 100;

/** Sessions are kept in memory: they end with the process, or after a week. */
export function createSessions(clock: Clock) {
  const codes: Credential[] = [];
  const sessions: Credential[] = [];

  function issue(credentials: Credential[], lifetimeMs: number): string {
    const secret = newSecret();
    credentials.push({ digest: digestOf(secret), until: clock.ticks() + lifetimeMs });
    if (credentials.length > MAX_CREDENTIALS) credentials.shift();
    return secret;
  }
  const valid = (credentials: readonly Credential[]) =>
    credentials.filter(({ until }) => clock.ticks() < until).map(({ digest }) => digest);

  return {
    newCode: () => issue(codes, CODE_MS),
    /** A session token; null if the code is unknown, used or expired. */
    redeem(code: string) {
      if (!isOneOf(code, valid(codes))) return null;
      const used = digestOf(code);
      codes.splice(
        codes.findIndex(({ digest }) => digest.equals(used)),
        1,
      );
      return issue(sessions, SESSION_MS);
    },
    isSession: (token: string) => isSecretShaped(token) && isOneOf(token, valid(sessions)),
  };
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
