import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../../config/schema.ts';
import { isLoopbackHost } from '../../platform/http/addresses.ts';
import { memoizeLast } from '../../platform/memoize.ts';
import { digestOf } from '../../platform/secrets.ts';
import type { GatewayError } from '../http/errors.ts';
import type { NamedKeys } from './named-keys.ts';
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
