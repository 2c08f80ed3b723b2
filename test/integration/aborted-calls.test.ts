import { describe, expect, test } from 'vitest';
import type { Tokens } from '#shared/usage.ts';
import { HELLO, startCall } from '../support/client.ts';
import type { TestGateway } from '../support/gateway.ts';
import { bearer } from '../support/http.ts';
import { turns } from '../support/report.ts';
import {
  chunk,
  DONE,
  hang,
  ROLE,
  type Script,
  sse,
  stall,
  type Upstream,
} from '../support/upstream.ts';
import { usageChunk } from '../support/usage.ts';
import { startBefore } from '../support/scene.ts';

const EVENTS = 40;
const WORDS = Array.from({ length: EVENTS }, () => chunk({ content: 'word ' }));

const event = (data: { readonly type: string }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
/** Anthropic tells one token at the beginning. */
const MESSAGE_START = event({
  type: 'message_start',
  message: {
    id: 'm',
    type: 'message',
    role: 'assistant',
    content: [],
    usage: { input_tokens: 100, output_tokens: 1 },
  },
} as { readonly type: string });
const DELTAS = Array.from({ length: EVENTS }, () =>
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'word ' } } as {
    readonly type: string;
  }),
);

/** The first 400 bytes of one that comes as JSON. */
const halfAnswer: Script = ({ res }) => {
  res.writeHead(200, { 'content-type': 'application/json' });
  res.write(`{"choices":"${'x'.repeat(388)}`);
};

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';
const STREAM = { ...HELLO, stream: true };
const MESSAGE = { model: 'm', max_tokens: 5, ...HELLO };

const tokensOf = (gateway: TestGateway): Tokens | null | undefined =>
  gateway.host.snapshot().requests[0]?.tokens;

interface Left {
  readonly phase: string;
  readonly path: string;
  readonly script: Script;
  readonly body: object;
  readonly settings?: Record<string, string>;
  /** Of the answer, before the caller leaves. */
  readonly received?: string;
  readonly output: number;
}

test.each<Left>([
  { phase: 'before the head', path: CHAT, script: hang, body: STREAM, output: 0 },
  {
    phase: 'in the middle of a stream',
    path: CHAT,
    script: stall(ROLE, ...WORDS),
    body: STREAM,
    received: 'word',
    output: EVENTS + 1,
  },
  {
    phase: 'while an answer is put together',
    path: CHAT,
    script: stall(ROLE, ...WORDS),
    body: HELLO,
    output: EVENTS,
  },
  {
    phase: 'in the middle of a whole answer',
    path: CHAT,
    script: halfAnswer,
    body: HELLO,
    settings: { HOSTED_A_ASSEMBLE: 'false' },
    output: 100,
  },
  {
    phase: 'in the middle of a streamed message',
    path: MESSAGES,
    script: stall(MESSAGE_START, ...DELTAS),
    body: { ...MESSAGE, stream: true },
    received: 'word',
    output: EVENTS + 1,
  },
])(
  'the usage of a call whose caller leaves is estimated: $phase, at $path',
  async ({ path, script, body, settings = {}, received, output }) => {
    const { gateway, a } = await startBefore({ a: script }, settings);
    const pending = startCall(gateway.url + path, body);
    const call = await a.call(1);
    if (received !== undefined) await pending.received(received);
    await turns(gateway, 5);
    pending.leave();
    await call.gone;
    await turns(gateway);
    expect(tokensOf(gateway)).toMatchObject({ output, estimated: true });
    expect(tokensOf(gateway)?.input).toBeGreaterThan(0);
  },
);

test('the usage that an upstream reports with a failed answer counts as reported', async () => {
  const nothing = [ROLE, chunk({}, 'stop'), usageChunk(100, 0), DONE];
  const { gateway } = await startBefore({ a: sse(...nothing) });
  expect((await startCall(gateway.url + CHAT, HELLO).answer).status).toBe(502);
  expect(tokensOf(gateway)).toEqual({ input: 100, output: 0, cached: 0, estimated: false });
});

describe('callers that always leave', () => {
  const leaveAt = async (gateway: TestGateway, a: Upstream, body: object, headers = {}) => {
    const before = a.calls.length;
    const pending = startCall(gateway.url + CHAT, body, headers);
    const answer = pending.answer.catch(() => null);
    const called = await Promise.race([a.call(before + 1), answer]);
    if (called === null || 'status' in called) return called?.status ?? null;
    await turns(gateway, 5);
    pending.leave();
    await called.gone;
    await turns(gateway);
    return null;
  };

  test.each([
    ['streams', STREAM],
    ['does not stream', HELLO],
  ])('a caller that always leaves and %s stays within the money budget', async (_, body) => {
    const { gateway, a } = await startBefore(
      { a: stall(ROLE, ...WORDS) },
      { HOSTED_A_PRICE_OUTPUT: '1000000', HOSTED_A_BUDGET_DAY: '100' },
    );
    const ends = [];
    for (let n = 0; n < 5; n += 1) ends.push(await leaveAt(gateway, a, body));
    expect(ends).toEqual([null, null, null, 503, 503]);
  });

  test('a caller that always leaves stays within the token limit of its key', async () => {
    const { gateway, a } = await startBefore({ a: stall(ROLE, ...WORDS) });
    const key = bearer(await gateway.key('laptop', { tokensDay: 100 }));
    const ends = [];
    for (let n = 0; n < 4; n += 1) ends.push(await leaveAt(gateway, a, STREAM, key));
    expect(ends).toEqual([null, null, 429, 429]);
  });
});
