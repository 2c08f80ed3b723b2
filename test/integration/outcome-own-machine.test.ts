import { describe, expect, test } from 'vitest';
import { chat, chatStream, HELLO, textOf } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { answers, error, json, startUpstream, type Script } from '../support/upstream.ts';
import { at, worded, wordOf } from '../support/words.ts';
import { startBefore, startStill } from '../support/scene.ts';

/** Ways in which engines and agents say that they are not broken, only full or not ready. */
const FULL: readonly (readonly [says: string, status: number, Script])[] = [
  ['busy, as Ollama', 503, json(503, { error: 'server busy, please try again.' })],
  ['loading, as llama-server', 503, json(503, { error: { message: 'Loading model', code: 503 } })],
  ['paused, as the agent', 503, error(503, 'The owner has paused this machine.', 'paused')],
  ['draining', 503, error(503, 'draining', null)],
  ['queue full', 429, error(429, 'The queue is full')],
  ['busy, as a code', 429, error(429, 'no', 'server_busy')],
  [
    'busy, as plain text',
    503,
    ({ res }) => void res.writeHead(503, { 'content-type': 'text/plain' }).end('Server is busy'),
  ],
];

const STARTING = ': it is starting up, which can take minutes; try again then';

describe('a local that is full', () => {
  test.each(FULL)(
    'a local that is full (%s, %i) falls back at once as busy',
    async (_says, _status, script) => {
      // The clock stands still: nothing is waited for.
      const { gateway, local } = await startStill({
        local: [script, answers('never')],
        a: answers('spilled'),
      });
      const answer = await chatStream(gateway.url);
      expect(answer).toMatchObject({ status: 200, upstream: 'hosted_a', reason: 'local=busy' });
      expect(textOf(answer.text)).toBe('spilled');
      expect(local.calls).toHaveLength(1);
    },
  );

  test.each(FULL)(
    'a local that is full (%s, %i) gives a 503 for 2 s as the final answer',
    async (says, status, script) => {
      const { gateway } = await startBefore({ local: script });
      expect(wordOf(await chat(gateway.url))).toEqual(
        worded({
          status: 503,
          code: 'upstream_busy',
          last: ['local', `busy (HTTP ${status}${says.startsWith('loading') ? STARTING : ''})`],
          retryAfter: '2',
        }),
      );
    },
  );

  test('a local is not taken for full by the boilerplate of an error page', async () => {
    const page = '<!doctype html><html><body>Our queue of proxies is busy</body></html>';
    const { gateway } = await startBefore({
      local: ({ res }) => {
        res.writeHead(503, { 'content-type': 'text/html' }).end(page);
      },
    });
    expect(await chat(gateway.url)).toMatchObject({ status: 503, reason: 'local=http_503' });
  });
});

test.each([
  ['hosted_a', 401],
  ['ondemand', 403],
] as const)(
  'a gateway’s credential that %s refuses (%i) gives a 502 with the words and not the key as the final answer',
  async (upstream, status) => {
    const only = await startUpstream(error(status, 'Incorrect API key provided: sk-secret-1234'));
    const gateway = await startGateway(at({ [upstream]: only.url }));
    const answer = await chat(gateway.url);
    expect(wordOf(answer)).toEqual(
      worded({
        status: 502,
        code: 'upstream_credentials',
        last: [upstream, `credentials (HTTP ${status})`],
      }),
    );
    expect(answer.text).not.toContain('1234');
    expect(answer.text).toContain('Incorrect API key provided: sk-[secret]');
  },
);

test.each([
  [
    'LiteLLM',
    error(429, 'Budget has been exceeded! Current cost: 0.2, Max budget: 0.1', 'budget_exceeded'),
  ],
  ['LocalAI', error(429, 'Request quota exceeded for all models: 5/5 requests in 1h window')],
  ['any gateway, for a minute', error(429, 'Rate limit exceeded for this key')],
])('a used-up limit of one caller at %s leaves local to all others', async (_name, used) => {
  const { gateway } = await startBefore({
    local: [used, answers('hi')],
    a: answers('spilled'),
  });
  const ask = (key: string) => chat(gateway.url, HELLO, { authorization: `Bearer ${key}` });
  expect(await ask('spent')).toMatchObject({ upstream: 'hosted_a', reason: 'local=http_429' });
  expect(await ask('other')).toMatchObject({ upstream: 'local', reason: 'none' });
});
