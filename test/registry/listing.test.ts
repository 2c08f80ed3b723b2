import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Provider,
  PROVIDER_STATUSES,
  type ProviderList,
  providerListSchema,
  VERIFICATION_STATES,
} from '#shared/provider.ts';
import type { Registry } from '../../main/registry/registry.ts';
import { type StoredProvider, UNVERIFIED } from '../../main/registry/store/store.ts';
import { storedProvider } from '../support/store.ts';
import { createTestStore, recordOf, startRegistry, startVerified } from './world.ts';

function listed(registry: Registry, query: Record<string, unknown> = {}): ProviderList {
  const list = registry.list(query);
  if (list.kind === 'refused') throw new Error(list.message);
  return providerListSchema.parse(list.body);
}

/** Providers as a store would have kept them, heard `silentMs` ago. */
function kept(
  index: number,
  {
    state = 'pending',
    silentMs = 0,
  }: Partial<{ state: 'pending' | 'verified' | 'failed'; silentMs: number }> = {},
): StoredProvider {
  return storedProvider({
    id: `prv_${index.toString(16).padStart(32, '0')}`,
    record: recordOf(),
    lastHeartbeatAt: Date.UTC(2026, 0, 1) - silentMs,
    verification: { ...UNVERIFIED, state, address: 'http://192.168.1.20:3001' },
  });
}

test.each([
  ['http://us:pw@tower:3001', 'http://tower:3001/'],
  [' https://pw@tower:3001/x', 'https://tower:3001/x'],
  ['http:\\\\us:pw@tower:3001', 'http://tower:3001/'],
  ['us:pw@not a url', 'not a url'],
  ['http://tower:3001', 'http://tower:3001'],
  ['http://tower:3001/@', 'http://tower:3001/@'],
])('a user name or password in an agent’s address is never shown: %j', async (agent_url, shown) => {
  const provider = { ...kept(1), record: recordOf({ agent_url }) };
  const { registry } = await withProviders([provider]);
  const [listedOne] = listed(registry).data;
  const excerpt = registry.excerpt(provider.id);
  const urls = [listedOne?.agent_url, listedOne?.raw.agent_url, excerpt?.agent_url];
  expect(urls).toEqual([shown, shown, shown]);
  expect(JSON.stringify([listedOne, excerpt])).not.toContain('pw');
});

async function withProviders(providers: readonly StoredProvider[]) {
  const store = createTestStore();
  await store.write(
    providers.map((provider) => ({ kind: 'provider', part: 'enrolled', provider }) as const),
  );
  return startRegistry({ store });
}

test('the counts by state sum up to the total, whatever is filtered, and the page is a slice of it', async () => {
  const provider = fc.record({
    state: fc.constantFrom('pending', 'verified', 'failed'),
    silentMs: fc.constantFrom(0, 50_000, 100_000, 90_000_000),
    isVerifying: fc.boolean(),
  });
  const query = fc.record(
    {
      status: fc.constantFrom(...PROVIDER_STATUSES),
      verification: fc.constantFrom(...VERIFICATION_STATES),
      limit: fc.integer({ min: 1, max: 12 }).map(String),
      offset: fc.integer({ min: 0, max: 12 }).map(String),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(provider, { maxLength: 10 }), query, async (made, asked) => {
      const { registry } = await withProviders(made.map((each, index) => kept(index, each)));
      made.forEach(({ isVerifying }, index) =>
        registry.verifierHost.verifying(kept(index).id, isVerifying),
      );
      const { limit, offset, ...filter } = asked;
      const whole = listed(registry, filter);
      const page = listed(registry, asked);
      expect(whole.verified + whole.pending + whole.verifying + whole.failed).toBe(whole.count);
      expect(whole.data).toHaveLength(whole.count);
      const isAsked = ({ status, verification }: Provider) =>
        (asked.status ?? status) === status &&
        (asked.verification ?? verification.status) === verification.status;
      expect(whole.data.every(isAsked)).toBe(true);
      const from = Number(offset ?? 0);
      const data = whole.data.slice(from, from + Number(limit ?? Infinity));
      expect(page).toEqual({ ...whole, data });
      const { object: _object, data: _data, ...counts } = listed(registry);
      expect(registry.counts()).toEqual(counts);
    }),
    { numRuns: 60 },
  );
});

test('the machines for routing leave out one at the moment that it is stale, not at the next sweep', async () => {
  const { registry, join, beat, verify, clock } = await startVerified();
  clock.advance(1500);
  const late = await join();
  await beat(late);
  await verify(late.id);
  clock.advance(43_500);
  expect(registry.targets().map(({ id }) => id)).toEqual([late.id]);
  clock.advance(1500);
  expect(registry.targets()).toEqual([]);
});
