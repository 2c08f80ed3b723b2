import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { expect, test } from 'vitest';
import { chat, chatStream, expectServed, textOf } from '../support/client.ts';
import { createManualClock } from '../support/clock.ts';
import { startGateway } from '../support/gateway.ts';
import { listening } from '../support/listening.ts';
import {
  answers,
  cut,
  error,
  hang,
  REFUSED_URL,
  reset,
  startUpstream,
  type Script,
  type Upstream,
} from '../support/upstream.ts';
import { at, worded, wordOf } from '../support/words.ts';
import { startBefore, startStill } from '../support/scene.ts';

const TIERS = ['local', 'hosted_a', 'ondemand'] as const;

/** An upstream whose every chat completion comes on a connection of its own. */
async function startUnpooled(...scripts: readonly Script[]): Promise<Upstream> {
  const upstream = await startUpstream(...scripts);
  upstream.answerGet = ({ res }) => void res.writeHead(404, { connection: 'close' }).end();
  return upstream;
}

const startPlain = () => listening(createServer());

function startTls(name: 'agent' | 'expired'): Promise<number> {
  const read = (file: string) => readFileSync(join(import.meta.dirname, '../support/tls', file));
  const [key, cert] = [read('agent.key.pem'), read(`${name}.cert.pem`)];
  return listening(createTlsServer({ key, cert }));
}

test.each(TIERS)(
  'a refused connection to %s is a 502 at once as the final answer',
  async (upstream) => {
    const url = REFUSED_URL;
    // The clock stands still: nothing is waited for.
    const gateway = await startGateway(at({ [upstream]: url }), createManualClock());
    expect(wordOf(await chat(gateway.url))).toEqual(
      worded({
        status: 502,
        code: 'upstream_unreachable',
        last: [upstream, `unreachable (nothing listens at ${new URL(url).host})`],
      }),
    );
  },
);

test.each(TIERS)(
  'a fresh connection that %s resets is not retried and is a 502',
  async (upstream) => {
    const only = await startUnpooled(reset, answers('too late'));
    const gateway = await startGateway(at({ [upstream]: only.url }), createManualClock());
    expect(wordOf(await chat(gateway.url))).toEqual(
      worded({
        status: 502,
        code: 'upstream_unreachable',
        last: [upstream, 'unreachable (the connection was closed)'],
      }),
    );
    expect(only.calls).toHaveLength(1);
  },
);

test.each([
  ['that speaks no TLS', startPlain, 'it does not speak TLS; its address may have to begin with'],
  ['with a certificate of its own', () => startTls('agent'), 'does not trust its certificate;'],
  ['with an old certificate', () => startTls('expired'), 'or the clock of this machine is wrong'],
])('an https: address %s is a 502 that names the cause', async (_title, start, words) => {
  const gateway = await startGateway(at({ hosted_a: `https://127.0.0.1:${await start()}` }));
  const answer = await chat(gateway.url);
  expect(answer).toMatchObject({ status: 502, reason: 'hosted_a=unreachable' });
  expect(answer.text).toContain(words);
});

test.each([
  ['local', 60_000],
  ['hosted_a', 30_000],
  ['ondemand', 120_000],
] as const)('a %s that is silent for %i ms is a 504', async (upstream, timeoutMs) => {
  const clock = createManualClock();
  const only = await startUpstream(hang);
  const settings = { ...at({ [upstream]: only.url }), KEEP_ALIVE_MS: '0' };
  const gateway = await startGateway(settings, clock);
  const answer = chat(gateway.url);
  const call = await only.call(1);
  clock.advance(timeoutMs);
  expect(wordOf(await answer)).toEqual(
    worded({
      status: 504,
      code: 'upstream_timeout',
      last: [upstream, 'timeout (no answer in time)'],
    }),
  );
  await call.gone;
  expect(only.calls).toHaveLength(1);
});

test.each(TIERS)(
  'a kept connection that %s has closed is replaced by a fresh one at once, without a fallback reason',
  async (upstream) => {
    const only = await startUpstream(answers('first'), reset, answers('second'));
    // The clock stands still: the retry does not wait.
    const gateway = await startGateway(at({ [upstream]: only.url }), createManualClock());
    await chatStream(gateway.url);
    const answer = await chatStream(gateway.url);
    expectServed(answer, upstream);
    expect(textOf(answer.text)).toBe('second');
    const [first, second, third] = only.calls;
    expect(third?.connection).not.toBe(first?.connection);
    expect(third?.connection).not.toBe(second?.connection);
    expect(third?.body).toEqual(second?.body);
    expect(third?.headerNames).toEqual(second?.headerNames);
    expect(only.calls).toHaveLength(3);
  },
);

test('a 408 on a kept connection is retried on a fresh one, and a second 408 is the answer', async () => {
  const { gateway, a } = await startStill({
    a: [answers('first'), error(408), answers('second'), error(408)],
    b: answers('from b'),
  });
  await chatStream(gateway.url);
  expect(textOf((await chatStream(gateway.url)).text)).toBe('second');
  expect(a.calls).toHaveLength(3);
  const answer = await chatStream(gateway.url);
  expectServed(answer, 'hosted_b', 'hosted_a=timeout');
  expect(new Set(a.calls.map(({ connection }) => connection)).size).toBe(3);
  expect(a.calls).toHaveLength(5);
});

test('a response that broke off on a kept connection is a bad response, and is not retried', async () => {
  const { gateway, a } = await startBefore({
    a: [answers('first'), cut(), answers('again')],
    b: answers('from b'),
  });
  await chatStream(gateway.url);
  const answer = await chatStream(gateway.url);
  expectServed(answer, 'hosted_b', 'hosted_a=bad_response');
  expect(a.calls).toHaveLength(2);
});
