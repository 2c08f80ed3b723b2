import { isLoopbackHost } from '../platform/loopback.ts';
import { ENV_PREFIX, type Config } from './settings.ts';

/** Why this configuration would be open to other machines without a key, one line each. */
export function openToTheNetwork({ gateway }: Config): string[] {
  if (isLoopbackHost(gateway.host) || gateway.apiKeys.length > 0) return [];
  return [
    `${ENV_PREFIX}HOST is "${gateway.host}", which other machines can reach, but ${ENV_PREFIX}API_KEYS is empty: ` +
      `set ${ENV_PREFIX}API_KEYS to a key of your own (openssl rand -hex 24 makes one) or bind to 127.0.0.1`,
  ];
}
