import type { Config } from '../../config.ts';
import { perConfig } from '../../config/per-config.ts';
import { createIdentify, type Identify } from './auth.ts';
import type { Sessions } from './sessions.ts';

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
