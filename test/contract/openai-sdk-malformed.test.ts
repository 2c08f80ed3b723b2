import { OpenAI } from 'openai';
import { expect, test } from 'vitest';
import { HELLO } from '../support/client.ts';
import { begun, missing, startHandover, TEXT, told } from '../support/handover.ts';
import { cut, sse, type Script } from '../support/upstream.ts';

// The `openai` package, unmodified, while an upstream sends events that are no chunks.

const STREAM = {
  ...HELLO,
  model: 'my-model',
  stream: true,
} as OpenAI.ChatCompletionCreateParamsStreaming;

async function textOf(...scripts: readonly Script[]): Promise<string> {
  const { gateway } = await startHandover(scripts);
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'any', maxRetries: 0 });
  const texts: string[] = [];
  for await (const part of await client.chat.completions.create(STREAM)) {
    texts.push(part.choices[0]?.delta.content ?? '');
  }
  return texts.join('');
}

/** With a broken event before each but the first, which decide what the stream is. */
function withBroken(events: readonly string[], broken: string): string[] {
  return events.flatMap((event, at) => (at > 2 ? [broken, event] : [event]));
}

const BROKEN = [
  'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"hal\n\n',
  'data: upstream hiccup\n\n',
  'data: {not json}\n\n',
  'data:\n\n',
  'data: null\n\n',
];

test.each(BROKEN)(
  'the broken event %j in the middle of a stream is dropped, and the client has the answer',
  async (broken) => {
    const events = withBroken(told('a'), broken);
    expect(await textOf(sse(...events))).toBe(TEXT);
    expect(await textOf(sse(events.join('')))).toBe(TEXT);
  },
);

test.each(BROKEN)(
  'the broken event %j in the rest of an answer from another upstream is dropped too',
  async (broken) => {
    const rest: Script = (call) => sse(...withBroken(told('b', missing(call)), broken))(call);
    expect(await textOf(cut(...begun('a', 3)), rest)).toBe(TEXT);
  },
);
