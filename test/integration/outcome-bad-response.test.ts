import { describe, expect, test } from 'vitest';
import { chat, chatStream, expectServed, HELLO, textOf } from '../support/client.ts';
import {
  answers,
  chunk,
  completion,
  cut,
  DONE,
  json,
  ROLE,
  sse,
  STOP,
  type Script,
} from '../support/upstream.ts';
import { worded, wordOf } from '../support/words.ts';
import { startBefore, startStill } from '../support/scene.ts';
import { counted } from '../support/report.ts';

const signIn: Script = ({ res }) =>
  void res.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>');
const ssh: Script = ({ socket }) => void socket.end('SSH-2.0-OpenSSH_9.9\r\n\r\n');
const pied = json(200, completion('x'), { 'content-encoding': 'pied-piper' });

/** So many KiB in one header; the limit is 32 for the whole head. */
const withHeader =
  (kib: number): Script =>
  (call) => {
    call.res.setHeader('x-long', 'x'.repeat(kib * 1024));
    return answers('fits')(call);
  };

const answerOf = (fields: Record<string, unknown>) =>
  json(200, {
    ...completion(''),
    choices: [{ index: 0, message: { role: 'assistant', ...fields }, finish_reason: 'stop' }],
  });

const failure = '{"error":{"message":"CUDA out of memory","type":"server_error","code":500}}';

/** The text of an answer, streamed or plain. */
function contentOf(text: string): unknown {
  if (!text.startsWith('{')) return textOf(text);
  const answer = JSON.parse(text) as { choices: { message: { content: unknown } }[] };
  return answer.choices[0]?.message.content;
}

const BEHIND_200 = 'an error behind a 200';
const NO_STREAM = 'a stream without content';
const EMPTY = 'an empty body';
const SAYS_NOTHING = 'an answer without content';
const CLOSED = 'the connection was closed';
const CRASHED = 'event: error\ndata: {"message":"crashed"}\n\n';

/** 2xx responses that are no answer, and how the gateway describes them. */
const NO_ANSWERS: readonly (readonly [says: string, Script, described: string])[] = [
  ['an error in JSON with status 200', json(200, failure, { 'x-request-id': 'r' }), BEHIND_200],
  ['an error with a number as code', json(200, { error: { code: 400, message: 'b' } }), BEHIND_200],
  ['an error in JSON that is only a text', json(200, { error: 'model crashed' }), BEHIND_200],
  ['a JSON list', json(200, '[]'), 'an error instead of an answer'],
  ['an error event first', sse(`data: ${failure}\n\n`, DONE), BEHIND_200],
  ['an error event after a role', sse(ROLE, `data: ${failure}\n\n`, DONE), BEHIND_200],
  ['an event named error first', sse(CRASHED), BEHIND_200],
  ['a page of HTML', signIn, 'a page of HTML'],
  ['an empty body without a type', ({ res }) => void res.writeHead(200).end(), EMPTY],
  ['an empty JSON body', json(200, ''), EMPTY],
  ['a 204', ({ res }) => void res.writeHead(204).end(), EMPTY],
  ['an empty stream', sse(), EMPTY],
  ['a stream of [DONE] alone', sse(DONE), NO_STREAM],
  ['a stream without content or tool call', sse(ROLE, STOP, DONE), SAYS_NOTHING],
  ['a stream of comments', sse(': ping\n\n', ': ping\n\n'), NO_STREAM],
  ['an answer without content or tool call', answerOf({ content: '' }), SAYS_NOTHING],
  ['an empty list of tool calls', answerOf({ content: null, tool_calls: [] }), SAYS_NOTHING],
  ['an answer without choices', json(200, { id: 'x', choices: [] }), SAYS_NOTHING],
  ['JSON that is cut short', json(200, '{"choices":[{"mess'), 'a body that is not JSON'],
  ['a header of 33 KB', withHeader(33), 'the response head is too large'],
  ['bytes that are not HTTP', ssh, 'the response is not HTTP'],
  ['an unknown content coding', pied, 'an unknown content coding'],
  ['a cut right after the head', cut(), CLOSED],
  ['a cut before any content', cut(ROLE), CLOSED],
];

describe.each([
  ['a stream', true],
  ['a plain answer', false],
])('for a caller of %s', (_, stream) => {
  test.each(NO_ANSWERS)(
    '%s is a bad response: another upstream answers in its place, and with no other it is a 502',
    async (_says, script, described) => {
      const { gateway, a, b } = await startBefore({ a: script, b: answers('a real answer') });
      const answer = await chat(gateway.url, { ...HELLO, stream });
      expectServed(answer, 'hosted_b', 'hosted_a=bad_response');
      expect(answer.headers).not.toHaveProperty('x-request-id');
      expect(contentOf(answer.text)).toBe('a real answer');
      expect([a.calls.length, b.calls.length]).toEqual([1, 1]);

      // The clock stands still: nothing of this is waited for or asked for again.
      const alone = await startStill({ a: script });
      const last = ['hosted_a', `bad_response (${described})`] as const;
      expect(wordOf(await chat(alone.url, { ...HELLO, stream }))).toEqual(
        worded({ status: 502, code: 'upstream_bad_response', last }),
      );
      expect(alone.a.calls).toHaveLength(1);
      expect(await counted(alone.gateway, 'hosted_a')).toEqual({ fails: 1, successes: 0 });
    },
  );
});

const CALL = { index: 0, id: '', type: 'function', function: { name: 'f', arguments: '{}' } };

test.each([
  ['a tool call', sse(ROLE, chunk({ tool_calls: [CALL] }, 'tool_calls'), DONE)],
  ['reasoning', sse(ROLE, chunk({ reasoning_content: 'hm' }), STOP, DONE)],
])('%s alone is an answer', async (_what, script) => {
  expectServed(await chatStream((await startBefore({ a: script })).url), 'hosted_a');
});

test('a response head just under 32 KiB is read', async () => {
  const { url } = await startBefore({ a: withHeader(31) });
  expect(textOf((await chatStream(url)).text)).toBe('fits');
});
