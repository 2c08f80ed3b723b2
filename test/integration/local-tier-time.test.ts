import { describe, expect, test } from 'vitest';
import { chat, chatStream } from '../support/client.ts';
import { turns } from '../support/report.ts';
import { startMachine, startTier } from '../support/tier.ts';
import { answers, error, hang, startUpstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';

describe('the timeout of the local pool', () => {
  test.each([1, 2, 3])(
    'the timeout of the local pool is shared equally by %d machines that are silent',
    async (count) => {
      const machines = await Promise.all(Array.from({ length: count }, () => startMachine(hang)));
      const hosted = await startUpstream(answers('paid for'));
      const settings = { ...at({ hosted_a: hosted.url }), LOCAL_TIMEOUT_MS: '60000', HEDGE: 'off' };
      const tier = await startTier(machines, settings);
      const answer = chat(tier.url);
      for (const [turn, machine] of machines.entries()) {
        await machine.call(1);
        await turns(tier);
        // Not a moment before its time.
        tier.clock.advance(60_000 / count - 1);
        await turns(tier);
        expect((machines[turn + 1] ?? hosted).calls).toHaveLength(0);
        tier.clock.advance(1);
      }
      expect(await answer).toMatchObject({
        upstream: 'hosted_a',
        reason: machines.map(({ id }) => `local/${id}=timeout`).join('; '),
      });
    },
  );

  test('the timeout of the local pool belongs to one machine alone where its peers are out', async () => {
    const [out, alone] = [await startMachine(error(402)), await startMachine(answers('hi'), hang)];
    const tier = await startTier([out, alone], { LOCAL_TIMEOUT_MS: '60000' });
    expect(await chat(tier.url)).toMatchObject({ reason: `local/${out.id}=quota` });
    const answer = chat(tier.url);
    await alone.call(2);
    await turns(tier);
    tier.clock.advance(59_999);
    await turns(tier);
    expect((await tier.status()).stats.perUpstream[alone.id]).toMatchObject({ fails: 0 });
    tier.clock.advance(1);
    expect(await answer).toMatchObject({ status: 504, reason: `local/${alone.id}=timeout` });
  });

  test('the timeout of the local pool no longer counts once an answer has begun', async () => {
    const [machine, other] = [await startMachine(hang), await startMachine(answers('never'))];
    const tier = await startTier([machine, other], { LOCAL_TIMEOUT_MS: '60000' });
    const answer = chatStream(tier.url);
    const { res } = await machine.call(1);
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const word of ['a ', 'b ', 'c ', 'd ']) {
      res.write(`data: {"choices":[{"index":0,"delta":{"content":"${word}"}}]}\n\n`);
      await turns(tier, 4);
      tier.clock.advance(20_000);
    }
    res.end(
      'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    );
    expect(await answer).toMatchObject({ status: 200, upstream: 'local', reason: 'none' });
    expect(other.calls).toHaveLength(0);
  });
});

describe('a lone 500 or 502', () => {
  test.each([500, 502])('a lone %d of a machine without peers is retried there', async (code) => {
    const machine = await startMachine(error(code), answers('better'));
    const tier = await startTier([machine]);
    const answer = chat(tier.url);
    await machine.call(1);
    tier.clock.advance(await tier.clock.timer(50, 200));
    expect(await answer).toMatchObject({ status: 200, upstream: 'local', reason: 'none' });
    expect(machine.calls).toHaveLength(2);
    expect((await tier.status()).circuits).toMatchObject({
      local: { fails: 0, successes: 1 },
      [machine.id]: { fails: 1, successes: 1, consecutiveFails: 0 },
    });
  });

  test.each([500, 502])('a lone %d of a machine with peers is not retried there', async (code) => {
    const [hiccup, peer] = [await startMachine(error(code)), await startMachine(answers('hi'))];
    const tier = await startTier([hiccup, peer]);
    expect(await chat(tier.url)).toMatchObject({ reason: `local/${hiccup.id}=http_${code}` });
    expect([hiccup.calls.length, peer.calls.length]).toEqual([1, 1]);
  });
});
