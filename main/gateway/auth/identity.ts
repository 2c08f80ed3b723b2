import type { IncomingHttpHeaders } from 'node:http';
import { perConfig } from '../../config/live-config.ts';
import type { Config } from '../../config/schema.ts';
import { digestOf, isOneOf } from '../../platform/secrets.ts';
import type { GatewayError } from '../http/errors.ts';
import type { Sessions } from './sessions.ts';

/** Who sent a request, as far as its headers prove. */
export interface Identity {
  /** May call and read: no keys are set, or a right one came. */
  readonly reader: boolean;
  /** Holds the control token or a control session. */
  readonly control: boolean;
  /** `Authorization` for `local`; null when none came or it was a secret of the gateway's own. */
  readonly authorization: string | null;
}

/** Recognises callers. */
export type Identify = (headers: IncomingHttpHeaders) => Identity;

/** What callers are recognised by. */
interface AuthRules {
  readonly apiKeys: readonly string[];
  readonly controlToken: string;
  readonly isSession: (token: string) => boolean;
}

/** Makes the recogniser for a set of keys; secrets are compared by digest, in constant time. */
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
      // Length first: most bearers are neither, and a digest costs more than all the rest of this.
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

/** What a caller without a right key is told. */
export function keyError(headers: IncomingHttpHeaders): GatewayError {
  const cameWithout = headers.authorization === undefined && headers['x-gateway-key'] === undefined;
  return {
    status: 401,
    code: cameWithout ? 'missing_api_key' : 'invalid_api_key',
    message: cameWithout
      ? 'This gateway needs a key: send one of SWITCHYARD_API_KEYS as "Authorization: Bearer <key>" or as "X-Gateway-Key: <key>".'
      : 'The key is not one of SWITCHYARD_API_KEYS.',
  };
}

/** What a reader is told who asks for a change. */
export const CONTROL_REQUIRED: GatewayError = {
  status: 401,
  code: 'control_required',
  message:
    'This needs a control session: run "node scripts/switchyard.mjs open" on this machine, or send the token in the file control-token of the data directory as "Authorization: Bearer <token>".',
};

/** Recognises callers by the keys that are set now. */
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
