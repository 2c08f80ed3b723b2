import { expect, test } from 'vitest';
import { CHAT, HELLO } from '../support/client.ts';
import { startTier, storedMachine, type Tier } from '../support/tier.ts';
import { answers, startUpstream } from '../support/upstream.ts';

const REQUESTS = 60;
/** A look at each of ten thousand machines would take many times as long as a request. */
const MOST = 3;

async function ask({ url }: Tier): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const request = { method: 'POST', headers, body: JSON.stringify(HELLO) };
  const answer = await fetch(url + CHAT, request);
  await answer.arrayBuffer();
  expect(answer.headers.get('x-gateway-upstream')).toBe('local');
  return answer.headers.get('x-gateway-provider') ?? '';
}

/** The processor's time for so many requests, one after the other: other programs take none of it. */
async function workOf(tier: Tier): Promise<number> {
  const begun = process.threadCpuUsage();
  for (let n = 0; n < REQUESTS; n += 1) await ask(tier);
  const { user, system } = process.threadCpuUsage(begun);
  return user + system;
}

test('a request costs a local pool of ten thousand machines about what it costs one of ten', async () => {
  const upstream = await startUpstream(answers('hi'));
  const tierOf = (count: number) =>
    startTier(
      Array.from({ length: count }, (_, n) => ({
        stored: storedMachine(`prv_${n.toString(16).padStart(32, '0')}`, upstream.url),
      })),
    );
  const [few, many] = [await tierOf(10), await tierOf(10_000)];
  expect(await many.status()).toMatchObject({ local: { verified_count: 10_000, health: 'ok' } });
  await Promise.all([workOf(few), workOf(many)]);
  const rounds: { readonly few: number; readonly many: number }[] = [];
  // The best of each counts: now and then garbage is collected.
  for (let round = 0; round < 5; round += 1) {
    rounds.push({ few: await workOf(few), many: await workOf(many) });
  }
  const best = (of: 'few' | 'many') => Math.min(...rounds.map((round) => round[of]));
  expect(best('many') / best('few')).toBeLessThan(MOST);
});
