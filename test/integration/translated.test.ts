import { describe, expect, test } from 'vitest';
import { chat, expectServed, startCall } from '../support/client.ts';
import { begun, goesOn, startHandover, told, WORDS } from '../support/handover.ts';
import { comparable, endedInError, STREAM_PROTOCOLS, typed } from '../support/protocols.ts';
import { bearer } from '../support/http.ts';
import { counted } from '../support/report.ts';
import { chatOnly } from '../support/speakers.ts';
import { startMachine, startTier } from '../support/tier.ts';
import { TRANSLATED_PROTOCOLS } from '../support/translated-protocols.ts';
import {
  answers,
  chunk,
  completion,
  cut,
  DONE,
  error,
  json,
  lists,
  ROLE,
  sse,
  type Script,
} from '../support/upstream.ts';
import { startBefore, startStill } from '../support/scene.ts';

const TEN_MINUTES_MS = 600_000;
const [ANN, BEN] = ['ann-key-0123456789', 'ben-key-0123456789'];

/** A gateway whose `hosted_a` speaks only chat completions, and is known to. */
const startTranslating = (script: Script) =>
  startBefore({ a: script }, { HOSTED_A_PROTOCOLS: 'chat' });

const pathsOf = (calls: readonly { readonly path: string }[]) => calls.map(({ path }) => path);

describe.each(TRANSLATED_PROTOCOLS)('$name', ({ path, body, endMark }) => {
  const native = path.replace('/v1', '');

  test.each([404, 405, 501])(
    'a translated request is sent at once, without a failure, to an upstream that answers %i to the endpoint',
    async (status) => {
      const { gateway, a, clock } = await startStill({ a: chatOnly(status) });
      const ask = () => startCall(gateway.url + path, body).answer;
      expectServed(await ask(), 'hosted_a');
      await ask();
      expect(pathsOf(a.calls)).toEqual([native, '/chat/completions', '/chat/completions']);
      expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 2 });
      clock.advance(TEN_MINUTES_MS);
      await ask();
      expect(pathsOf(a.calls).slice(3)).toEqual([native, '/chat/completions']);
    },
  );

  test('a request is not translated for an upstream that is set to native', async () => {
    const { url, a } = await startBefore({ a: chatOnly(404) }, { HOSTED_A_PROTOCOLS: 'native' });
    const { status } = await startCall(url + path, body).answer;
    expect([status, pathsOf(a.calls)]).toEqual([404, [native]]);
  });

  /** Changes the answer, and has no counterpart. */
  const untold = path.endsWith('/messages') ? 'container' : 'conversation';

  test('a request that chat completions cannot express goes to the next upstream that speaks the protocol', async () => {
    const { whole } = STREAM_PROTOCOLS.find((each) => each.path === path) ?? {};
    const { gateway, b } = await startBefore({ a: chatOnly(404), b: json(200, whole) });
    const answer = await startCall(gateway.url + path, { ...body, [untold]: 'x' }).answer;
    expectServed(answer, 'hosted_b', 'hosted_a=unsupported');
    expect(b.calls[0]?.json[untold]).toBe('x');
  });

  test('a request that no upstream can serve gets a 400 that names the field', async () => {
    const { gateway, a } = await startBefore({ a: chatOnly(404) });
    for (let n = 0; n < 2; n += 1) {
      const answer = await startCall(gateway.url + path, { ...body, [untold]: 'x' }).answer;
      expect([answer.status, answer.upstream]).toEqual([400, 'none']);
      expect(answer.text).toContain(`'${untold}': `);
    }
    expect(pathsOf(a.calls)).toEqual([native]);
  });

  test('a translated answer that is continued after a cut is one answer in one stream', async () => {
    const ask = (url: string) => startCall(url + path, { ...body, stream: true }).answer;
    const whole = await startHandover([chatOnly(404, sse(...told('a')))]);
    const expected = comparable((await ask(whole.gateway.url)).text);
    expect(expected).toContain(endMark);
    const set = { HOSTED_A_PROTOCOLS: 'chat', HOSTED_B_PROTOCOLS: 'chat' };
    // Known from the settings, or found out by this very request.
    for (const settings of [set, {}]) {
      const scripts = [chatOnly(404, cut(...begun('a', 3))), chatOnly(404, goesOn('b'))];
      const { b, gateway } = await startHandover(scripts, settings);
      const answer = await ask(gateway.url);
      expect(comparable(answer.text.replace(': carried on by hosted_b\n\n', ''))).toBe(expected);
      const begunSoFar = { role: 'assistant', content: WORDS.slice(0, 3).join('').trimEnd() };
      const messages = [{ role: 'user', content: 'hi' }, begunSoFar];
      expect(b.calls).toMatchObject([{ path: '/chat/completions', json: { messages } }]);
    }
  });

  test('a translated answer without a finish reason, or with that of a crash, ends in the protocol’s own error', async () => {
    const ends = [
      { last: [DONE], code: 'upstream_bad_response' },
      { last: [chunk({}, 'error'), DONE], code: 'upstream_error' },
    ];
    for (const { last, code } of ends) {
      const { gateway } = await startTranslating(sse(ROLE, chunk({ content: 'half' }), ...last));
      const { text } = await startCall(gateway.url + path, { ...body, stream: true }).answer;
      expect([endedInError(text).code, text.includes(endMark)]).toEqual([code, false]);
      expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 1, successes: 0 });
    }
  });

  test('a translated answer of an engine that does not stream is still a stream', async () => {
    const { gateway } = await startTranslating(json(200, completion('whole')));
    const answer = await startCall(gateway.url + path, { ...body, stream: true }).answer;
    expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(answer.text).toContain(endMark);
    expect(answer.text).toContain('whole');
  });

  test('a translated answer is translated however long it is', async () => {
    const { a, gateway } = await startTranslating(answers('hi'));
    const content = 'hi '.repeat(400_000);
    const long = JSON.stringify(body).replace('hi', content);
    expect((await startCall(gateway.url + path, long).answer).status).toBe(200);
    expect(a.calls[0]?.json['messages']).toEqual([{ role: 'user', content }]);
    await gateway.set({ gateway: { maxBodiesInFlightBytes: 3_000_000 } });
    const refused = await startCall(gateway.url + path, long).answer;
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
  });
});

test('a request that the protocol itself does not allow gets a 400, and no upstream is called', async () => {
  const { a, gateway } = await startTranslating(answers('hi'));
  const messages = [{ role: 'user', content: 'hi' }];
  const answer = await startCall(`${gateway.url}/v1/messages`, { model: 'm', messages }).answer;
  expect([answer.status, a.calls.length]).toEqual([400, 0]);
  expect(JSON.parse(answer.text)).toMatchObject({
    type: 'error',
    error: { type: 'invalid_request_error', message: "'max_tokens' must be a number." },
  });
});

test('a stored prompt without an input is not a bad request if the host that keeps it is only busy', async () => {
  const { gateway, b } = await startBefore(
    { a: error(503), b: answers('b') },
    { HOSTED_A_PROTOCOLS: 'native', HOSTED_B_PROTOCOLS: 'chat' },
  );
  const asked = { model: 'm', prompt: { id: 'pmpt_1' } };
  const answer = await startCall(`${gateway.url}/v1/responses`, asked).answer;
  expect([answer.status, b.calls.length]).toEqual([503, 0]);
});

test.each([
  ['whole', false],
  ['streamed', true],
])(
  'an item of a %s answer by an upstream with the protocol is found at one without it, for its caller alone',
  async (_name, stream) => {
    const id = 'msg_67ccd2bf17f0819081ff3bb2cf6508e60bb6a6b452d3795b';
    const content = [{ type: 'output_text', text: 'Hello.', annotations: [] }];
    const message = { type: 'message', id, role: 'assistant', status: 'completed', content };
    const response = { id: 'resp_1', object: 'response', status: 'completed', output: [message] };
    const delta = typed('response.output_text.delta', { delta: 'Hello.' });
    const { gateway, a, b } = await startBefore(
      {
        a: stream ? sse(delta, typed('response.completed', { response })) : json(200, response),
        b: answers('More.'),
      },
      { HOSTED_A_PROTOCOLS: 'native', HOSTED_B_PROTOCOLS: 'chat', API_KEYS: `${ANN},${BEN}` },
    );
    const ask = (input: unknown, key = ANN) =>
      startCall(`${gateway.url}/v1/responses`, { input, stream }, bearer(key)).answer;
    expect((await ask('hi')).upstream).toBe('hosted_a');
    a.script = error(503);
    const more = [
      { type: 'item_reference', id },
      { role: 'user', content: 'more' },
    ];
    expect([(await ask(more, BEN)).status, b.calls.length]).toEqual([503, 0]);
    const next = await ask(more);
    expect([next.status, next.upstream]).toEqual([200, 'hosted_b']);
    const said = { role: 'assistant', content: 'Hello.' };
    expect(b.calls[0]?.json['messages']).toEqual([said, more[1]]);
  },
);

/** Of 64 bits, as Discord, X and Snowflake have them: more digits than a number of JavaScript holds. */
const LONG_ID = '{"id":1234567890123456789}';

const USE = `{"type":"tool_use","id":"t","name":"f","input":${LONG_ID}}`;
const HISTORY = `[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"unsigned"},${USE}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]`;
const ABOUT_AN_ID = `{"model":"m","max_tokens":9,"messages":${HISTORY}}`;

test('a number of 64 bits in a tool call stays exact, in the answer and in the history', async () => {
  const call = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: LONG_ID } };
  const { a, gateway } = await startTranslating(
    sse(chunk({ tool_calls: [call] }), chunk({}, 'tool_calls'), DONE),
  );
  const { text } = await startCall(`${gateway.url}/v1/messages`, ABOUT_AN_ID).answer;
  expect(text).toContain(`"input":${LONG_ID}`);
  expect(a.calls[0]?.json['messages']).toMatchObject([
    {},
    { tool_calls: [{ function: { arguments: LONG_ID } }] },
    {},
  ]);
});

test('llama.cpp gets responses and messages as chat completions, except for what only it can do', async () => {
  const get = lists({ id: 'm', owned_by: 'llamacpp' });
  const { gateway, local } = await startBefore({ local: { script: answers('hi'), get } });
  await chat(gateway.url);
  for (const each of TRANSLATED_PROTOCOLS)
    await startCall(gateway.url + each.path, each.body).answer;
  const partial = { model: 'm', max_tokens: 9, messages: [{ role: 'assistant', content: 'I' }] };
  const asIs = ['/v1/messages', '/v1/messages/count_tokens'];
  for (const path of asIs) await startCall(gateway.url + path, partial).answer;
  const inChat = ['', ...TRANSLATED_PROTOCOLS].map(() => '/v1/chat/completions');
  expect(pathsOf(local.calls)).toEqual([...inChat, ...asIs]);
});

test('each machine of the local pool gets the form that it needs, and one without the endpoint has no failure', async () => {
  const [RESPONSES] = TRANSLATED_PROTOCOLS;
  const machine = await startMachine(chatOnly(404));
  const { url, ...tier } = await startTier([machine]);
  const ask = () => startCall(`${url}/v1/responses`, RESPONSES?.body ?? {}).answer;
  for (let n = 0; n < 2; n += 1) expectServed(await ask(), 'local');
  const inChat = '/v1/chat/completions';
  expect(pathsOf(machine.calls)).toEqual(['/v1/responses', inChat, inChat]);
  expect(await counted({ url, ...tier }, 'local')).toEqual({ fails: 0, successes: 2 });
});
