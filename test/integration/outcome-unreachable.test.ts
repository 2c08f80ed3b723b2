import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:tls';
import { expect, test } from 'vitest';
import { chat, chatStream, expectServed, textOf } from '../support/client.ts';
import { tlsFile } from '../support/byte-server.ts';
import { createManualClock } from '../support/clock.ts';
import { startGateway } from '../support/gateway.ts';
import { listening } from '../support/listening.ts';
import { answers, hang, REFUSED_URL, reset, type UpstreamGet } from '../support/upstream.ts';
import { at, worded, wordOf } from '../support/words.ts';
import { startOnly } from '../support/scene.ts';

const TIERS = ['local', 'hosted_a', 'ondemand'] as const;

const startPlain = () => listening(createServer());

const startTls = (name: 'agent' | 'expired') =>
  listening(createTlsServer({ key: tlsFile('agent.key.pem'), cert: tlsFile(`${name}.cert.pem`) }));

const UNREACHABLE = { status: 502, code: 'upstream_unreachable' };

test.each(TIERS)(
  'a refused connection to %s is a 502 at once as the final answer',
  async (upstream) => {
    // The clock stands still: nothing is waited for.
    const gateway = await startGateway(at({ [upstream]: REFUSED_URL }), createManualClock());
    const described = `unreachable (nothing listens at ${new URL(REFUSED_URL).host})`;
    expect(wordOf(await chat(gateway.url))).toEqual(
      worded({ ...UNREACHABLE, last: [upstream, described] }),
    );
  },
);

test.each(TIERS)(
  'a fresh connection that %s resets is not retried and is a 502',
  async (upstream) => {
    const script = [reset, answers('too late')];
    // Every chat completion comes on a connection of its own.
    const get = ({ res }: UpstreamGet) => void res.writeHead(404, { connection: 'close' }).end();
    const { url, only } = await startOnly(upstream, { script, get });
    expect(wordOf(await chat(url))).toEqual(
      worded({ ...UNREACHABLE, last: [upstream, 'unreachable (the connection was closed)'] }),
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
  const { url, clock, only } = await startOnly(upstream, hang, { KEEP_ALIVE_MS: '0' });
  const answer = chat(url);
  const call = await only.call(1);
  clock.advance(timeoutMs);
  const last = [upstream, 'timeout (no answer in time)'] as const;
  expect(wordOf(await answer)).toEqual(worded({ status: 504, code: 'upstream_timeout', last }));
  await call.gone;
  expect(only.calls).toHaveLength(1);
});

test.each(TIERS)(
  'a kept connection that %s has closed is replaced by a fresh one at once, without a fallback reason',
  async (upstream) => {
    // The clock stands still: the retry does not wait.
    const { url, only } = await startOnly(upstream, [answers('first'), reset, answers('second')]);
    await chatStream(url);
    const answer = await chatStream(url);
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
