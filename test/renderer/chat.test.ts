import { describe, expect, test } from 'vitest';
import { type ChatEnd, type ChatEvent, createChat } from '../../renderer/api/chat.ts';
import { attempt, request } from './builders.ts';
import { routeText, turnFacts } from '../../renderer/features/chat/chat.tsx';
import {
  messagesOf,
  newTurn,
  type Turn,
  withEnd,
  withEvent,
} from '../../renderer/features/chat/conversation.ts';

const LABELS = new Map([
  ['local', 'Local'],
  ['hosted_a', 'Groq'],
]);
const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const delta = (text: Record<string, unknown>) => event({ model: 'm', choices: [{ delta: text }] });
const USAGE = event({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 3 } });

/** What the page makes of a response. */
async function chatted(response: Response) {
  const bodies: unknown[] = [];
  const events: ChatEvent[] = [];
  const send = createChat({
    request(_path, init) {
      bodies.push(init?.body);
      return Promise.resolve(response);
    },
  });
  const messages = [{ role: 'user', content: 'hi' }] as const;
  const call = { model: null, messages };
  const end = await send(call, (each) => events.push(each), new AbortController().signal);
  return { end, events, body: JSON.parse(bodies[0] as string) as object };
}

const streamed = (text: string, headers: Record<string, string> = {}) =>
  new Response(text, { headers: { 'content-type': 'text/event-stream', ...headers } });

describe('chat completions of the dashboard', () => {
  test('a chat without a chosen model sends none, and shows route, text and usage of the answer', async () => {
    const { end, events, body } = await chatted(
      streamed(`${delta({ content: 'Hel' })}${delta({ content: 'lo' })}${USAGE}data: [DONE]\n\n`, {
        'x-gateway-upstream': 'hosted_a',
        'x-gateway-fallback-reason': 'local=timeout',
        'x-gateway-request-id': 'req_1',
      }),
    );
    expect(body).not.toHaveProperty('model');
    expect(end).toEqual({ kind: 'done' });
    const turn = events.reduce<Turn>((at, each) => withEvent(at, each, 0), newTurn('hi', 0));
    expect(turn).toMatchObject({ text: 'Hello', model: 'm', pieces: 2 });
    expect(turn.usage).toMatchObject({ prompt: 5, completion: 3 });
    expect(routeText(turn, LABELS)).toBe('Groq: Local timed out');
  });

  test.each<[string, string, ChatEnd]>([
    [
      'without its end',
      delta({ content: 'Hel' }),
      { kind: 'failed', message: 'The answer was cut off.' },
    ],
    [
      'with an error in it',
      `${delta({ content: 'Hel' })}${event({ error: { message: 'out of memory' } })}`,
      { kind: 'failed', message: 'out of memory' },
    ],
  ])('a chat completion %s has failed', async (_how, text, end) => {
    expect((await chatted(streamed(text))).end).toEqual(end);
  });

  test('a chat completion that is refused shows the gateway’s words and the id of the request', async () => {
    const refusal = JSON.stringify({ error: { message: 'No upstream is configured.' } });
    const headers = { 'x-gateway-request-id': 'req_2', 'x-gateway-upstream': 'none' };
    const { end, events } = await chatted(new Response(refusal, { status: 503, headers }));
    expect(end).toEqual({ kind: 'failed', message: 'No upstream is configured.' });
    expect(events).toEqual([
      {
        kind: 'route',
        route: {
          requestId: 'req_2',
          upstream: null,
          provider: null,
          fallbackReason: 'none',
        },
      },
    ]);
  });

  test('a chat completion keeps reasoning apart from the answer, under either of its names', async () => {
    const { events } = await chatted(
      streamed(`${delta({ reasoning_content: 'a' })}${delta({ reasoning: 'b' })}data: [DONE]\n\n`),
    );
    const turn = events.reduce<Turn>((at, each) => withEvent(at, each, 0), newTurn('hi', 0));
    expect([turn.reasoning, turn.text]).toEqual(['ab', '']);
  });
});

describe('turns of a chat', () => {
  const text = (piece: string): ChatEvent => ({ kind: 'text', text: piece, isReasoning: false });
  const begun = withEvent(newTurn('hi', 1000), text('a'), 1200);

  test('a turn of a chat shows its TTFT, and a rate over what came after it', () => {
    const usage: ChatEvent = { kind: 'usage', prompt: 5, completion: 41 };
    const done = withEnd(withEvent(begun, usage, 2200), { kind: 'done' }, 2200);
    expect(turnFacts(done)).toEqual(['5 tokens in, 41 out', '40 tokens/s']);
  });

  test('a turn of a chat counts pieces where the upstream reports no usage, and shows no rate for an instant', () => {
    const done = withEnd(begun, { kind: 'stopped' }, 1201);
    expect(turnFacts(done)).toEqual(['≈ 1 token']);
    expect(turnFacts(newTurn('hi', 0))).toEqual([]);
  });

  test('a turn of a chat shows the figures of its request once they are known, like every other page', () => {
    const lost = attempt({ startMs: 0, firstContentMs: 90, reason: 'outrun' });
    const won = attempt({ startMs: 100, firstContentMs: 133, lastContentMs: 1100 });
    const tokens = { input: 6, output: 2, cached: 0, estimated: false };
    const row = request('req_1', { attempts: [lost, won], tokens });
    const done = withEnd(begun, { kind: 'done' }, 1201);
    expect(turnFacts(done, row)).toEqual(['6 tokens in, 2 out', 'first token 33 ms']);
  });

  test('a turn of a chat without an answer is not sent with the next question', () => {
    const failed = withEnd(newTurn('lost', 0), { kind: 'failed', message: 'no' }, 1);
    expect(messagesOf([begun, failed], 'next')).toEqual([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'a' },
      { role: 'user', content: 'next' },
    ]);
  });
});
