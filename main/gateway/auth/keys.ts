import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../../config/schema.ts';
import { isLoopbackHost } from '../../platform/http/addresses.ts';
import { memoizeLast } from '../../platform/memoize.ts';
import { type GatewayError, invalidParam, notFound, refused } from '../http/errors.ts';
import { z } from 'zod';
import { KEY_LIMIT_NAMES, MAX_KEY_LIMIT } from '#shared/keys.ts';
import { KEY_NAME, keyLimits, type KeyLimitValues, type StoredKey } from '../../config/key-file.ts';
import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import type { Log } from '../../platform/log.ts';
import { digestOf, newSecret } from '../../platform/secrets.ts';
import type { StateFile } from '../../platform/files.ts';
import type { Refusal } from '../../platform/http/routes.ts';
import { OWN_COMMAND } from '../../platform/process.ts';

export interface Identity {
  /** May call and read: no keys are configured, or a valid one was sent. */
  readonly reader: boolean;
  /** Holds the control token or a control session. */
  readonly control: boolean;
  /** `Authorization` for `local`; null if no credential was sent, or only the gateway's own. */
  readonly authorization: string | null;
  /** The gateway's own secret that was sent; null if none was. */
  readonly key: string | null;
  /** The name of the key in records; null without a key, or for a control secret. */
  readonly keyName: string | null;
}

/** Whether it may be somebody else than the owner, who has given away the key. */
export const isGuest = ({ control, keyName }: Identity): boolean => keyName !== null && !control;

export type Identify = (headers: IncomingHttpHeaders) => Identity;

interface AuthDeps {
  readonly config: () => Config;
  readonly controlToken: string;
  readonly keys: Pick<NamedKeys, 'isEmpty' | 'use'>;
  /** Whether other machines can reach the gateway; it does not become open to them when the last key is revoked. */
  readonly isShared: () => boolean;
}

export function createIdentify(
  { config, controlToken, keys: named, isShared }: AuthDeps,
  isSession: (token: string) => boolean,
): Identify {
  const control = digestOf(controlToken);
  const rulesIn = memoizeLast(({ gateway }: Config) => ({
    listed: new Map(gateway.apiKeys.map((key, index) => [digestOf(key), `key ${index + 1}`])),
    // After a change to loopback, the gateway stays exposed until the restart.
    willBeShared: !isLoopbackHost(gateway.host),
  }));
  const isControlSecret = (text: string) =>
    // Length first, because a digest costs more than the rest of this function.
    (text.length === controlToken.length && digestOf(text) === control) || isSession(text);
  const withoutSecrets = (text: string | null, nameOf: (word: string) => string | null) =>
    wordsOf(text).some((word) => isControlSecret(word) || nameOf(word) !== null) ? null : text;
  return (headers) => {
    const { listed, willBeShared } = rulesIn(config());
    const hasKeys = listed.size > 0 || !named.isEmpty();
    const nameOf = (text: string) => {
      if (!hasKeys) return null;
      const digest = digestOf(text);
      return listed.get(digest) ?? named.use(digest);
    };
    let isReader = !hasKeys && !willBeShared && !isShared();
    let hasControl = false;
    let forEngine: string | null = null;
    let key: string | null = null;
    let keyName: string | null = null;
    for (const { authorization, secret } of credentialsOf(headers)) {
      const isControl = authorization !== null && secret !== null && isControlSecret(secret);
      const name = secret === null || isControl ? null : nameOf(secret);
      const isOwn = isControl || name !== null;
      isReader ||= isOwn;
      hasControl ||= isControl;
      keyName ??= name;
      if (isOwn) key ??= secret;
      else forEngine ??= withoutSecrets(authorization, nameOf);
    }
    return { reader: isReader, control: hasControl, authorization: forEngine, key, keyName };
  };
}

interface Credential {
  /** As forwarded to an engine; null for `X-Gateway-Key`, which is not forwarded. */
  readonly authorization: string | null;
  /** Null for a scheme other than `Bearer`. */
  readonly secret: string | null;
}

/** `x-api-key`, which Anthropic's clients send, counts as a bearer token. */
function credentialsOf(headers: IncomingHttpHeaders): readonly Credential[] {
  const { authorization, 'x-api-key': key, 'x-gateway-key': own } = headers;
  const credentials: Credential[] = [];
  if (typeof own === 'string') credentials.push({ authorization: null, secret: own });
  if (authorization !== undefined) {
    credentials.push({ authorization, secret: bearerOf(authorization) });
  }
  if (typeof key === 'string' && key !== '') {
    credentials.push({ authorization: `Bearer ${key}`, secret: key });
  }
  return credentials;
}

/** No credential has more; each word costs a digest. */
const MAX_WORDS = 16;

/** What a mistyped credential could hold: a secret without its scheme, in quotes, behind another scheme, or as Basic's password. */
function wordsOf(authorization: string | null): readonly string[] {
  const words = (authorization ?? '').split(/[\s,"':]/).filter((word) => word !== '');
  const [scheme = '', basic = ''] = words;
  const isBasic = /^basic$/i.test(scheme);
  const decoded = isBasic ? Buffer.from(basic, 'base64').toString().split(':') : [];
  return [...words, ...decoded].slice(0, MAX_WORDS);
}

function bearerOf(authorization: string): string | null {
  return /^bearer +(\S+)\s*$/i.exec(authorization)?.[1] ?? null;
}

export function keyError(headers: IncomingHttpHeaders): GatewayError {
  const { authorization = '', 'x-api-key': apiKey = '', 'x-gateway-key': own } = headers;
  const hasOther = apiKey !== '' || own !== undefined;
  // An app whose key is empty sends the rest of the header.
  if (!hasOther && /^(bearer)?$/i.test(authorization)) return MISSING_KEY;
  const isOtherScheme = !hasOther && bearerOf(authorization) === null;
  return isOtherScheme ? NO_BEARER : UNKNOWN_KEY;
}

const MISSING_KEY: GatewayError = {
  status: 401,
  code: 'missing_api_key',
  message: `This gateway requires an API key, from INGLENOOK_API_KEYS or created with "${OWN_COMMAND} keys": send it as "Authorization: Bearer <key>", as "X-Api-Key: <key>" or as "X-Gateway-Key: <key>".`,
};

const NO_BEARER: GatewayError = {
  status: 401,
  code: 'invalid_api_key',
  message:
    'The Authorization header must be "Bearer <key>": the word Bearer once, a space, and the key without quotes or spaces.',
};

const UNKNOWN_KEY: GatewayError = {
  status: 401,
  code: 'invalid_api_key',
  message: `The API key is neither in INGLENOOK_API_KEYS nor in "${OWN_COMMAND} keys list".`,
};

export const CONTROL_REQUIRED: GatewayError = {
  status: 401,
  code: 'control_required',
  message: `This needs owner access: run "${OWN_COMMAND} open" on this machine to sign in, or send the token in the file control-token of the data directory as "Authorization: Bearer <token>".`,
};

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
