import type { IncomingHttpHeaders } from 'node:http';
import { perConfig } from '../../config/live-config.ts';
import type { Config } from '../../config/schema.ts';
import { digestOf, isOneOf } from '../../platform/secrets.ts';
import type { GatewayError } from '../http/errors.ts';
import type { Sessions } from './sessions.ts';

/** A caller's rights, as proved by its headers. */
export interface Identity {
  /** May call and read: no keys are configured, or a valid one was sent. */
  readonly reader: boolean;
  /** Holds the control token or a control session. */
  readonly control: boolean;
  /** `Authorization` for `local`; null if no credential was sent, or one of the gateway's own. */
  readonly authorization: string | null;
  /** The gateway's own secret that was sent; null if none was. */
  readonly key: string | null;
}

export type Identify = (headers: IncomingHttpHeaders) => Identity;

interface AuthRules {
  readonly apiKeys: readonly string[];
  readonly controlToken: string;
  readonly isSession: (token: string) => boolean;
}

/** Secrets are compared by digest, in constant time. */
export function createIdentify({ apiKeys, controlToken, isSession }: AuthRules): Identify {
  const keys = apiKeys.map(digestOf);
  const control = [digestOf(controlToken)];
  const isKey = (text: string) => keys.length > 0 && isOneOf(text, keys);
  const isControlSecret = (text: string) =>
    // Length first, because a digest costs more than the rest of this function.
    (text.length === controlToken.length && isOneOf(text, control)) || isSession(text);
  return (headers) => {
    const credentials = credentialsOf(headers);
    const ownHeader = headers['x-gateway-key'];
    const byOwnHeader = typeof ownHeader === 'string' && isKey(ownHeader);
    let isReader = keys.length === 0 || byOwnHeader;
    let hasControl = false;
    let forEngine: string | null = null;
    let key = byOwnHeader ? ownHeader : null;
    for (const { authorization, secret } of credentials) {
      const isControl = secret !== null && isControlSecret(secret);
      const isOwn = isControl || (secret !== null && isKey(secret));
      isReader ||= isOwn;
      hasControl ||= isControl;
      if (isOwn) key ??= secret;
      if (!isOwn) forEngine ??= authorization;
    }
    return { reader: isReader, control: hasControl, authorization: forEngine, key };
  };
}

interface Credential {
  /** As an engine is sent it. */
  readonly authorization: string;
  /** Null for a scheme without a bearer. */
  readonly secret: string | null;
}

/** `x-api-key`, which Anthropic's clients send, counts like a bearer. */
function credentialsOf(headers: IncomingHttpHeaders): readonly Credential[] {
  const { authorization, 'x-api-key': key } = headers;
  const credentials: Credential[] = [];
  if (authorization !== undefined) {
    credentials.push({ authorization, secret: bearerOf(authorization) });
  }
  if (typeof key === 'string' && key !== '') {
    credentials.push({ authorization: `Bearer ${key}`, secret: key });
  }
  return credentials;
}

function bearerOf(authorization: string): string | null {
  return /^bearer +(\S+)\s*$/i.exec(authorization)?.[1] ?? null;
}

export function keyError(headers: IncomingHttpHeaders): GatewayError {
  const isMissing = ['authorization', 'x-api-key', 'x-gateway-key'].every(
    (name) => headers[name] === undefined,
  );
  return {
    status: 401,
    code: isMissing ? 'missing_api_key' : 'invalid_api_key',
    message: isMissing
      ? 'This gateway needs a key: send one of SWITCHYARD_API_KEYS as "Authorization: Bearer <key>", as "X-Api-Key: <key>" or as "X-Gateway-Key: <key>".'
      : 'The key is not one of SWITCHYARD_API_KEYS.',
  };
}

export const CONTROL_REQUIRED: GatewayError = {
  status: 401,
  code: 'control_required',
  message:
    'This needs a control session: run "switchyard open" on this machine, or send the token in the file control-token of the data directory as "Authorization: Bearer <token>".',
};

/** Follows changes of the configured keys. */
export function identifyBy(
  config: () => Config,
  controlToken: string,
  sessions: Sessions,
): Identify {
  const identifyWith = perConfig(({ gateway }) =>
    createIdentify({
      apiKeys: gateway.apiKeys,
      controlToken,
      isSession: (token) => sessions.isSession(token),
    }),
  );
  return (headers) => identifyWith(config())(headers);
}
