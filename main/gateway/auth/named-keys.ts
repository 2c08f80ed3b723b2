import { z } from 'zod';
import { KEY_LIMIT_NAMES, MAX_KEY_LIMIT } from '#shared/keys.ts';
import { KEY_NAME, keyLimits, type KeyLimitValues, type StoredKey } from '../../config/key-file.ts';
import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import type { Log } from '../../platform/log.ts';
import { digestOf, newSecret } from '../../platform/secrets.ts';
import type { StateFile } from '../../platform/files.ts';
import { invalidParam, notFound, refused } from '../http/errors.ts';
import type { Refusal } from '../../platform/http/routes.ts';
import { OWN_COMMAND } from '../../platform/process.ts';

export type NamedKeys = ReturnType<typeof createNamedKeys>;

interface NamedKeysDeps {
  readonly stored: readonly StoredKey[];
  /** Throws the file system's error; nothing has changed then. */
  readonly write: (keys: readonly StoredKey[]) => void;
  /** Opens the file with the times of last use. */
  readonly keepUses: (save: () => unknown) => StateFile;
  readonly clock: Clock;
  readonly log: Log;
}

/** Each name is a label value of a metric, and so a series of its own. */
const MAX_KEYS = 100;
/** A busy app would otherwise cause two writes per second. */
const USE_SAVED_EVERY_MS = 60_000;
/** Tells a key from other secrets, in secret scans and in credentials. */
const PREFIX = 'sy-';

export function createNamedKeys(deps: NamedKeysDeps) {
  const { clock, log } = deps;
  let keys = deps.stored;
  const used = new Map<string, number>();
  let savedAt = -Infinity;
  const uses = deps.keepUses(() => Object.fromEntries(used));
  for (const [name, at] of Object.entries((uses.load() ?? {}) as Record<string, unknown>)) {
    if (typeof at === 'number' && keys.some((key) => key.name === name)) used.set(name, at);
  }

  /** Null if the keys are on disk and in effect. */
  function replace(next: readonly StoredKey[]): Refusal | null {
    try {
      deps.write(next);
    } catch (error) {
      const message = `The key file could not be written: ${messageOf(error)}`;
      return refused({ status: 500, code: 'settings_unwritten', message });
    }
    keys = next;
    return null;
  }

  return {
    /** With wall-clock times; that of the last use is null if there was none. */
    list: () =>
      keys.map(({ name, createdAt }) => {
        return { name, createdAt, lastUsedAt: used.get(name) ?? null };
      }),
    isEmpty: (): boolean => keys.length === 0,
    /** The key is returned this once: only its digest is kept. */
    add(
      name: unknown,
      limits?: unknown,
    ): { readonly kind: 'added'; readonly name: string; readonly key: string } | Refusal {
      if (typeof name !== 'string' || !KEY_NAME.test(name)) return BAD_NAME;
      if (keys.some((each) => each.name === name)) return nameTaken(name);
      if (keys.length >= MAX_KEYS) return TOO_MANY;
      const first = changedLimits({}, limits);
      if (first.kind === 'refused') return first;
      const key = PREFIX + newSecret();
      const digest = digestOf(key);
      used.delete(name);
      const added = { name, digest, createdAt: clock.now(), limits: first.limits };
      const problem = replace([...keys, added]);
      if (problem !== null) return problem;
      log('info', 'key_added', { name });
      return { kind: 'added', name, key };
    },
    /** Changes the limits that `change` names; null once they are on disk and in effect. */
    limit(name: string, change: unknown): Refusal | null {
      const key = keys.find((each) => each.name === name);
      if (key === undefined) return unknownName(name);
      const changed = changedLimits(key.limits, change);
      if (changed.kind === 'refused') return changed;
      const { limits } = changed;
      const problem = replace(keys.map((each) => (each === key ? { ...key, limits } : each)));
      if (problem !== null) return problem;
      log('info', 'key_limited', { name, ...limits });
      return null;
    },
    limitsOf: (name: string): KeyLimitValues => keys.find((key) => key.name === name)?.limits ?? {},
    revoke(name: string): Refusal | null {
      const left = keys.filter((each) => each.name !== name);
      if (left.length === keys.length) return unknownName(name);
      const problem = replace(left);
      if (problem !== null) return problem;
      used.delete(name);
      uses.changed();
      log('info', 'key_revoked', { name });
      return null;
    },
    /** The name of the key with this digest, which counts as used now; null if there is none. */
    use(digest: string): string | null {
      const name = keys.find((key) => key.digest === digest)?.name;
      if (name === undefined) return null;
      used.set(name, clock.now());
      if (clock.ticks() - savedAt >= USE_SAVED_EVERY_MS) {
        savedAt = clock.ticks();
        uses.changed();
      }
      return name;
    },
    flush(): Promise<void> {
      if (used.size > 0) uses.changed();
      return uses.flush();
    },
  };
}

const BAD_NAME = invalidParam(
  'name',
  'must be 1 to 64 letters, digits, spaces, dots, dashes, underscores or @, begin with a letter or a digit, and not end with a space',
);

const TOO_MANY = refused({
  status: 409,
  code: 'too_many_keys',
  message: `The limit of ${MAX_KEYS} keys is reached; revoke one that is no longer used.`,
});

const nameTaken = (name: string): Refusal =>
  refused({
    status: 409,
    code: 'key_exists',
    message: `A key named "${name}" already exists; revoke it first, or choose another name.`,
    param: 'name',
  });

const unknownName = (name: string): Refusal =>
  notFound(`There is no key named "${name.slice(0, 100)}"; "${OWN_COMMAND} keys list" lists them.`);

/** The limits after a change from a request: null removes a limit, and those that it does not name stay. */
function changedLimits(
  before: KeyLimitValues,
  change: unknown,
): { readonly kind: 'limits'; readonly limits: KeyLimitValues } | Refusal {
  const read = z.record(z.string(), z.unknown()).safeParse(change ?? {});
  if (!read.success) return BAD_LIMITS;
  const after = Object.entries({ ...before, ...read.data }).filter(([, value]) => value !== null);
  const checked = keyLimits.safeParse(Object.fromEntries(after));
  return checked.success ? { kind: 'limits', limits: checked.data } : BAD_LIMITS;
}

const BAD_LIMITS = invalidParam(
  'limits',
  `may have ${KEY_LIMIT_NAMES.join(', ')}, each a whole number from 1 to ${MAX_KEY_LIMIT}, or null for no limit`,
);
