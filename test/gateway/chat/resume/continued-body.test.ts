import { expect, test } from 'vitest';
import {
  continuedBody,
  type ContinuedPlan,
} from '../../../../main/gateway/chat/resume/continuation.ts';
import { isBadRequest, parseChatRequest } from '../../../../main/gateway/protocols/chat-request.ts';

const USER = '{"role":"user","content":"x"}';

const sent = (content: string, events: number) => ({
  at: 'text' as const,
  content,
  firstContent: content,
  reasoning: '',
  tokens: { content: events, reasoning: 0 },
});

const by = (prefill: ContinuedPlan['continuing']['prefill']) => ({
  continuing: {
    prefill,
    takesThought: prefill === 'continue_final_message',
    continuesThought: false,
  },
});

function continued(body: string, plan: Partial<ContinuedPlan> = {}, content = 'Hello', events = 1) {
  const request = parseChatRequest(Buffer.from(body));
  if (isBadRequest(request)) throw new Error(request.message);
  const transcript = sent(content, events);
  return continuedBody(request, { ...by('last-message'), transcript, ...plan });
}

function bytesOf(...args: Parameters<typeof continued>): string {
  return continued(...args)?.body.bytes.toString() ?? 'none';
}

test('the partial answer is the last message of a continuation, and every other byte is the caller’s', () => {
  expect(bytesOf(`{ "top_p" : 1.0,"messages":[ ${USER} ] , "x":[]}`)).toBe(
    `{ "top_p" : 1.0,"messages":[ ${USER},{"role":"assistant","content":"Hello"} ] , "x":[]}`,
  );
  const begun = '{"role":"assistant","content":"So: "}';
  const continuing = bytesOf(`{"messages":[${USER},${begun}]}`);
  expect(continuing).toBe(`{"messages":[${USER},{"role":"assistant","content":"So: Hello"}]}`);
});

test('tokens that were sent count towards the token limits of a continuation, which are never below one', () => {
  const body = `{"max_tokens":10,"max_completion_tokens":4,"messages":[${USER}]}`;
  expect(bytesOf(body, {}, 'Hello', 4)).toContain('"max_tokens":6,"max_completion_tokens":1');
  expect(bytesOf(`{"max_tokens":null,"messages":[${USER}]}`)).toContain('"max_tokens":null');
});

const THOUGHT = { ...sent('Hello', 2), reasoning: 'hm so\n' };
const WITH_THOUGHT = { transcript: { ...THOUGHT, tokens: { content: 2, reasoning: 7 } } };

test('an engine gets the reasoning that led to the text, and a service only the text', () => {
  const body = `{"messages":[${USER}]}`;
  const asked = (prefill: ContinuedPlan['continuing']['prefill']) => {
    const { messages } = JSON.parse(bytesOf(body, { ...by(prefill), ...WITH_THOUGHT })) as {
      messages: unknown[];
    };
    return [messages.at(-1), continued(body, { ...by(prefill), ...WITH_THOUGHT })];
  };
  expect(asked('continue_final_message')).toMatchObject([
    { role: 'assistant', content: 'Hello', reasoning_content: 'hm so' },
    { partial: 'Hello', heldTokens: 9 },
  ]);
  for (const prefill of ['last-message', 'prefix'] as const) {
    const [message, plan] = asked(prefill);
    expect(message).not.toHaveProperty('reasoning_content');
    expect(plan).toMatchObject({ heldTokens: 2 });
  }
});

const OPEN_THOUGHT = {
  transcript: {
    ...sent('', 0),
    at: 'reasoning' as const,
    reasoning: 'hm so\n',
    tokens: { content: 0, reasoning: 4 },
  },
  continuing: {
    prefill: 'continue_final_message' as const,
    takesThought: true,
    continuesThought: true,
  },
};

test('reasoning without a text is itself the last message, for an engine that continues reasoning', () => {
  const body = `{"max_tokens":30,"messages":[${USER}]}`;
  const asked = continued(body, OPEN_THOUGHT);
  expect(asked).toMatchObject({ part: 'thought', partial: 'hm so', blanks: '\n', heldTokens: 4 });
  expect(JSON.parse(bytesOf(body, OPEN_THOUGHT))).toMatchObject({
    max_tokens: 26,
    messages: [{}, { role: 'assistant', content: '', reasoning_content: 'hm so' }],
  });
});

test.each<[what: string, plan: Partial<ContinuedPlan>]>([
  [
    'reasoning, at an engine that continues none,',
    { continuing: { ...OPEN_THOUGHT.continuing, continuesThought: false } },
  ],
  [
    'reasoning after some text, which the engine would continue,',
    { transcript: { ...OPEN_THOUGHT.transcript, content: 'a' } },
  ],
])('%s is not continued', (_what, plan) => {
  expect(continued(`{"messages":[${USER}]}`, { ...OPEN_THOUGHT, ...plan })).toBeNull();
});

test.each<[why: string, body: string]>([
  [
    'the caller’s own last message is a list of parts',
    '{"messages":[{"role":"assistant","content":[]}]}',
  ],
  [
    'the caller’s own last message calls a tool',
    '{"messages":[{"role":"assistant","content":"","tool_calls":[{}]}]}',
  ],
  ['the last message is none', '{"messages":[1]}'],
  ['there is more than one choice', `{"n":2,"messages":[${USER}]}`],
  ['the answer is to be JSON', `{"response_format":{"type":"json_object"},"messages":[${USER}]}`],
  ['the text is constrained', `{"guided_regex":"a","messages":[${USER}]}`],
])('a continuation is not possible if %s', (_why, body) => {
  expect(continued(body)).toBeNull();
});
