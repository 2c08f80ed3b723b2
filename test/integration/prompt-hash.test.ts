import { expect, test } from 'vitest';
import { postJson } from '../support/http.ts';
import { STREAM_PROTOCOLS } from '../support/protocols.ts';
import { startStill } from '../support/scene.ts';
import { json } from '../support/upstream.ts';

/** As Claude Code asks (anthropics/claude-code#68900). */
const asked = (cch: string) => ({
  model: 'claude-sonnet-5',
  max_tokens: 100,
  system: [
    {
      type: 'text',
      text: `x-anthropic-billing-header: cc_version=2.1.177.01c; cc_entrypoint=cli; cch=${cch};`,
    },
    { type: 'text', text: 'You are Claude Code.' },
  ],
  messages: [{ role: 'user', content: 'hello' }],
});

const fixed = (text: string) => text.replace('cch=36ee5', 'cch=00000');

test('an upstream that speaks Messages gets every byte of a request but its hash', async () => {
  const { whole } = STREAM_PROTOCOLS.find(({ name }) => name === 'messages') ?? {};
  const scene = await startStill({ a: json(200, whole) }, { HOSTED_A_PROTOCOLS: 'native' });
  const sent = asked('36ee5');
  expect((await postJson(`${scene.url}/v1/messages`, sent)).status).toBe(200);
  const [call] = scene.a.calls;
  expect(call?.path).toBe('/messages');
  expect({ ...call?.json, stream: undefined }).toEqual({
    ...(JSON.parse(fixed(JSON.stringify(sent))) as object),
    stream: undefined,
  });
  expect(scene.gateway.host.snapshot().requests[0]?.attempts[0]?.isHashFixed).toBe(true);
});
