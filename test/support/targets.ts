import { type LocalTarget, parseBaseAddress } from '../../main/gateway/upstream/upstreams.ts';

/** What serves `local` at an address, of which nothing else is known but `more`. */
export const targetAt = (url: string, more: Partial<LocalTarget> = {}): LocalTarget => ({
  provider: null,
  baseAddress: parseBaseAddress(url, 'local'),
  models: [],
  listed: [],
  facts: [],
  ownedBy: null,
  gatewayToken: null,
  ...more,
});
