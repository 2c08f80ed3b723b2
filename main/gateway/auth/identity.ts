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
  /** `Authorization` for `local`; null if none was sent, or one of the gateway's own secrets. */
  readonly authorization: string | null;
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
  return (headers) => {
    const authorization = headers.authorization ?? null;
    const bearer = authorization === null ? null : bearerOf(authorization);
    const ownHeader = headers['x-gateway-key'];
    const byOwnHeader = typeof ownHeader === 'string' && isKey(ownHeader);
    if (bearer === null) {
      return { reader: keys.length === 0 || byOwnHeader, control: false, authorization };
    }
    const isControl =
      // Length first, because a digest costs more than the rest of this function.
      (bearer.length === controlToken.length && isOneOf(bearer, control)) || isSession(bearer);
    const byBearer = isKey(bearer);
    return {
      reader: keys.length === 0 || byOwnHeader || byBearer || isControl,
      control: isControl,
      authorization: isControl || byBearer ? null : authorization,
    };
  };
}

function bearerOf(authorization: string): string | null {
  return /^bearer +(\S+)\s*$/i.exec(authorization)?.[1] ?? null;
}

export function keyError(headers: IncomingHttpHeaders): GatewayError {
  const isMissing = headers.authorization === undefined && headers['x-gateway-key'] === undefined;
  return {
    status: 401,
    code: isMissing ? 'missing_api_key' : 'invalid_api_key',
    message: isMissing
      ? 'This gateway needs a key: send one of SWITCHYARD_API_KEYS as "Authorization: Bearer <key>" or as "X-Gateway-Key: <key>".'
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
