import { describe, expect, test } from 'vitest';
import { endedInError } from '../support/protocols.ts';
import { chatStream } from '../support/client.ts';
import {
  begun,
  goesOn,
  outcomeOf,
  rejectsPrefill,
  startHandover,
  TEXT,
  told,
} from '../support/handover.ts';
import { chunkOf, heard } from '../support/resume.ts';
import { attemptsOf } from '../support/scene.ts';
import { cut, sse } from '../support/upstream.ts';

const BEGUN = begun('a', 3);
const SENT = 'The quick brown ';
const LOOK = { name: 'look', arguments: '{"place' };
const CALL = chunkOf('a', {
  tool_calls: [{ index: 0, id: 'x', type: 'function', function: LOOK }],
});

describe.each<[name: string, first: readonly string[], more: object]>([
  ['a tool call has begun', [...BEGUN, CALL], {}],
  ['it refuses', [...BEGUN, chunkOf('a', { refusal: 'I cannot' })], {}],
  ['several choices were asked for', BEGUN, { n: 2 }],
  ['several choices come', [...BEGUN, BEGUN[2]?.replace('"index":0', '"index":1') ?? ''], {}],
  ['the finish reason was sent', [...told('a').slice(0, -1), 'data: {"error":"late"}\n\n'], {}],
])('streams that cannot be continued once %s', (_name, first, more) => {
  test.each([
    ['by continuing it', {}],
    ['by giving it again', { temperature: 0 }],
  ])(
    'a stream that cannot be continued ends with the error event, and no upstream is asked for the rest, %s',
    async (_how, asking) => {
      const { b, c, gateway } = await startHandover([cut(...first), goesOn('b'), goesOn('c')]);
      const { text } = await chatStream(gateway.url, { ...more, ...asking });
      const sent = first.filter((event) => !event.includes('"error"'));
      expect(endedInError(text).before).toBe(sent.join(''));
      expect([b.calls.length, c.calls.length]).toEqual([0, 0]);
    },
  );
});

describe.each([
  ['same-model', 'other', 0],
  ['same-model', 'same', 1],
  ['any', 'other', 1],
  ['any', 'same', 1],
  ['off', 'other', 0],
  ['off', 'same', 0],
])('RESUME=%s', (resume, model, calls) => {
  test.each([
    ['asked to continue', {}],
    ['asked for the answer again', { temperature: 0 }],
  ])(
    `an upstream whose model is the ${model} is ${calls === 1 ? '' : 'not '}%s`,
    async (_how, asking) => {
      const { b, gateway } = await startHandover([cut(...BEGUN), goesOn('b')], {
        RESUME: resume,
        HOSTED_B_MODEL: model,
        HOSTED_B_PREFILL: 'temperature' in asking ? 'none' : 'last-message',
        HOSTED_C_MODEL: 'another',
        HOSTED_C_PREFILL: 'none',
      });
      b.script = (call) => ('temperature' in asking ? sse(...told('b')) : goesOn('b'))(call);
      const { text } = await chatStream(gateway.url, asking);
      expect(b.calls).toHaveLength(calls);
      const isWhole = calls === 1;
      expect(outcomeOf(text)).toEqual({ content: isWhole ? TEXT : SENT, isWhole });
    },
  );
});

test('an upstream without a named model is asked for the caller’s, which counts as the same everywhere', async () => {
  const unnamed = { HOSTED_A_MODEL: '', HOSTED_B_MODEL: '', HOSTED_C_MODEL: '' };
  const { a, b, gateway } = await startHandover([cut(...BEGUN), goesOn('b')], unnamed);
  const { text } = await chatStream(gateway.url, { model: 'of-the-caller' });
  expect(heard(text)).toMatchObject({ content: TEXT, dones: 1 });
  expect((await b.call(1)).json['model']).toBe('of-the-caller');
  a.script = cut(...BEGUN);
  expect(endedInError((await chatStream(gateway.url)).text).before).toBe(BEGUN.join(''));
});

test('an answer of more than 1 MiB is not kept, and so not continued', async () => {
  const words = Array<string>(64).fill('x'.repeat(16_384));
  const broken = cut(...told('a', words).slice(0, 65));
  const { b, gateway } = await startHandover([broken, goesOn('b')]);
  const { text } = await chatStream(gateway.url);
  expect(heard(endedInError(text).before).content).toHaveLength(1024 * 1024);
  expect(b.calls).toHaveLength(0);
});

test('a broken stream is recorded as broken, and its text is written nowhere', async () => {
  const { gateway } = await startHandover([cut(...BEGUN), rejectsPrefill, goesOn('c')]);
  await chatStream(gateway.url);
  const { requests, status } = gateway.host.snapshot();
  expect(requests).toMatchObject([{ state: 'done', upstream: 'hosted_a' }]);
  expect(attemptsOf(gateway)).toEqual([
    ['hosted_a', 'turn', 'bad_response'],
    ['hosted_b', 'resume', 'http_400'],
    ['hosted_c', 'resume', null],
  ]);
  expect(JSON.stringify([requests, status])).not.toMatch(/quick|brown/);
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  expect(metrics).toContain('\ninglenook_resumes_total 1\n');
});
