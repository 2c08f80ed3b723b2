import { describe, expect, test } from 'vitest';
import type { UpstreamId } from '#shared/ids.ts';
import { chat, chatStream, HELLO, textOf } from '../support/client.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { answers, error, json, startUpstream } from '../support/upstream.ts';
import { at, worded, wordOf } from '../support/words.ts';
import { NEUTRAL, OWN_CREDENTIAL, STATUS_ROWS, TOO_LONG, UNEXPLAINED } from './status-rows.ts';

/** One case for each upstream that a row holds for. */
function each<Row extends { readonly of: readonly UpstreamId[] }>(rows: readonly Row[]) {
  return rows.flatMap((row) => row.of.map((upstream) => ({ ...row, upstream })));
}

/** Failures and successes that count in the circuit of an upstream. */
function marksOf({ host }: TestGateway, upstream: UpstreamId) {
  const { fails, successes } = host.snapshot().status.circuits[upstream] ?? {};
  return [fails, successes];
}

/** Who is asked after an upstream that is not the last. */
const NEXT = { local: 'hosted_a', hosted_a: 'hosted_b' } as const;

function withNext<Row extends { readonly upstream: string }>(rows: readonly Row[]) {
  return rows.flatMap((row) =>
    row.upstream === 'local' || row.upstream === 'hosted_a'
      ? [{ ...row, upstream: row.upstream, next: NEXT[row.upstream] }]
      : [],
  );
}

describe('an error status that falls back', () => {
  test.each(withNext(each(STATUS_ROWS)))(
    'a $says from $upstream falls back to $next, and the caller gets the reason',
    async ({ upstream, next, script, reason, calls = 1 }) => {
      const first = await startUpstream(script);
      const second = await startUpstream(answers('from the next'));
      const gateway = await startGateway(at({ [upstream]: first.url, [next]: second.url }));
      const answer = await chatStream(gateway.url);
      expect(answer).toMatchObject({ status: 200, upstream: next });
      expect(answer.reason).toBe(`${upstream}=${reason}`);
      expect(textOf(answer.text)).toBe('from the next');
      expect(first.calls).toHaveLength(calls);
      const asked = { ...HELLO, stream: true, stream_options: { include_usage: true } };
      expect(second.calls.map((call) => call.json)).toEqual([asked]);
    },
  );

  test.each(each(STATUS_ROWS))(
    'a $says from $upstream as the final answer is $word for the caller',
    async ({ upstream, script, reason, described, word, retryAfter, calls = 1 }) => {
      const only = await startUpstream(script);
      const gateway = await startGateway(at({ [upstream]: only.url }));
      const answer = await chat(gateway.url);
      const [status, code] = word;
      const description = described ?? `${reason} (HTTP ${reason.replace('http_', '')})`;
      expect(wordOf(answer)).toEqual(
        worded({
          status,
          code,
          reason: `${upstream}=${reason}`,
          last: [upstream, description],
          ...(retryAfter === undefined ? {} : { retryAfter }),
        }),
      );
      expect(only.calls).toHaveLength(calls);
      expect(marksOf(gateway, upstream)).toEqual(NEUTRAL.has(reason) ? [0, 0] : [calls, 0]);
    },
  );
});

/** Settings with upstreams behind one that are never to be called. */
const before = (upstream: UpstreamId, url: string) =>
  upstream === 'ondemand' ? {} : at({ hosted_c: url, ondemand: url });

const asItCame = { 'content-type': 'application/json', 'x-ratelimit-remaining': '3' };

describe('an unexplained refusal', () => {
  test.each(withNext(each(UNEXPLAINED)))(
    'an unexplained $says from $upstream falls back to $next',
    async ({ upstream, next, status, body }) => {
      const first = await startUpstream(json(status, body));
      const second = await startUpstream(answers('it is taken here'));
      const gateway = await startGateway(at({ [upstream]: first.url, [next]: second.url }));
      const answer = await chatStream(gateway.url);
      expect(answer).toMatchObject({ upstream: next, reason: `${upstream}=http_${status}` });
      expect(textOf(answer.text)).toBe('it is taken here');
      expect(first.calls).toHaveLength(1);
    },
  );

  test.each(withNext(each(UNEXPLAINED)))(
    'an unexplained $says from $upstream is passed on byte for byte once $next refuses as well',
    async ({ upstream, next, status, body }) => {
      const first = await startUpstream(json(status, body, { 'x-ratelimit-remaining': '3' }));
      const second = await startUpstream(error(422, 'no such field'));
      const third = await startUpstream(answers('never'));
      const gateway = await startGateway({
        ...at({ [upstream]: first.url, [next]: second.url }),
        ...before(next, third.url),
      });
      const answer = await chat(gateway.url);
      const reason = `${upstream}=http_${status}; ${next}=http_422`;
      expect(answer).toMatchObject({ status, upstream, reason, text: body });
      expect(answer.headers).toMatchObject(asItCame);
      expect([first.calls.length, second.calls.length, third.calls.length]).toEqual([1, 1, 0]);
    },
  );

  test.each(withNext(each(UNEXPLAINED)))(
    'an unexplained $says from $upstream is passed on byte for byte where $next fails',
    async ({ upstream, next, status, body }) => {
      const first = await startUpstream(json(status, body));
      const second = await startUpstream(error(503));
      const gateway = await startGateway(at({ [upstream]: first.url, [next]: second.url }));
      const reason = `${upstream}=http_${status}; ${next}=http_503`;
      expect(await chat(gateway.url)).toMatchObject({ status, upstream, reason, text: body });
    },
  );

  test.each(each(UNEXPLAINED))(
    'an unexplained $says from $upstream is passed on byte for byte where no other upstream is left',
    async ({ upstream, status, body }) => {
      const only = await startUpstream(json(status, body, { 'x-ratelimit-remaining': '3' }));
      const gateway = await startGateway(at({ [upstream]: only.url }));
      const answer = await chat(gateway.url);
      expect(answer).toMatchObject({ status, upstream, reason: 'none', text: body });
      expect(answer.headers).toMatchObject(asItCame);
      expect(only.calls).toHaveLength(1);
      expect(marksOf(gateway, upstream)).toEqual([0, 0]);
    },
  );
});

test.each(each(OWN_CREDENTIAL))(
  'a $says from $upstream for the caller’s credential is passed on byte for byte, and no other is called',
  async ({ upstream, status, body }) => {
    const first = await startUpstream(json(status, body, { 'x-ratelimit-remaining': '3' }));
    const other = await startUpstream(answers('never'));
    const gateway = await startGateway({
      ...at({ [upstream]: first.url }),
      ...before(upstream, other.url),
    });
    const answer = await chat(gateway.url);
    expect(answer).toMatchObject({ status, upstream, reason: 'none', text: body });
    expect(answer.headers).toMatchObject(asItCame);
    expect([first.calls.length, other.calls.length, other.gets.length]).toEqual([1, 0, 0]);
    expect(marksOf(gateway, upstream)).toEqual([0, 0]);
  },
);

describe('a prompt that is too long', () => {
  test.each(withNext(each(TOO_LONG)))(
    'a $says from $upstream for a long prompt falls back to $next',
    async ({ upstream, next, status, body }) => {
      const first = await startUpstream(json(status, body));
      const second = await startUpstream(answers('it fits here'));
      const gateway = await startGateway(at({ [upstream]: first.url, [next]: second.url }));
      const answer = await chatStream(gateway.url);
      expect(answer.reason).toBe(`${upstream}=context_length`);
      expect(answer.upstream).toBe(next);
      expect(textOf(answer.text)).toBe('it fits here');
    },
  );

  test.each(each(TOO_LONG))(
    'a $says from $upstream alone for a long prompt is passed on byte for byte',
    async ({ upstream, status, body }) => {
      const only = await startUpstream(json(status, body));
      const gateway = await startGateway(at({ [upstream]: only.url }));
      const answer = await chat(gateway.url);
      expect(answer).toMatchObject({ status, upstream, reason: 'none', text: body });
      expect(only.calls).toHaveLength(1);
      expect(marksOf(gateway, upstream)).toEqual([0, 0]);
    },
  );
});
