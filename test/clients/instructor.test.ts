import createInstructor from '@instructor-ai/instructor';
import { OpenAI } from 'openai';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
// It knows the schemas of zod 3 only.
import { z } from 'zod/v3';
import { SAID, type Reply } from '../support/chat-answers.ts';
import { startSpeaker, WAYS } from '../support/speakers.ts';
import { KEY, MODEL } from './client.ts';

// `@instructor-ai/instructor`, unmodified: chat completions whose answers follow a schema. Its client is
// OpenAI's, whose errors, aborts and images have tests of their own.

const instructor = (url: string, mode: 'TOOLS' | 'JSON' | 'JSON_SCHEMA' | 'MD_JSON' = 'TOOLS') => {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 0 });
  return createInstructor({ client, mode, retryAllErrors: true });
};

// It prints what it throws.
beforeEach(() => {
  for (const level of ['error', 'warn'] as const) {
    const print = vi.spyOn(console, level).mockReturnValue();
    onTestFinished(() => print.mockRestore());
  }
});

const USER = z.object({ name: z.string(), age: z.number() });
const ADA = { name: 'Ada', age: 36 };
const ASK = {
  model: MODEL,
  messages: [{ role: 'user' as const, content: 'Ada is 36' }],
  response_model: { schema: USER, name: 'User' },
};

const IN_TEXT: Reply = { ...SAID, text: JSON.stringify(ADA) };
const IN_CALL: Reply = {
  ...SAID,
  text: '',
  calls: [{ id: 'call_1', name: 'User', arguments: JSON.stringify(ADA) }],
  finish: 'tool_calls',
};

const MODES = [
  { mode: 'TOOLS', said: IN_CALL },
  { mode: 'JSON', said: IN_TEXT },
  { mode: 'JSON_SCHEMA', said: IN_TEXT },
] as const;

const IN_MARKDOWN: Reply = { ...SAID, text: `\`\`\`json\n${JSON.stringify(ADA)}\n\`\`\`` };

describe.each(WAYS.filter(({ way }) => way === 'translated'))('at $place', (way) => {
  test.each(MODES)(
    `Instructor gets an object in mode $mode from ${way.place}, plain and streamed`,
    async ({ mode, said }) => {
      const { url } = await startSpeaker(way, said);
      const client = instructor(url, mode);
      expect(await client.chat.completions.create(ASK)).toMatchObject(ADA);
      let last: object = {};
      for await (const part of await client.chat.completions.create({ ...ASK, stream: true })) {
        last = part;
      }
      expect(last).toMatchObject(ADA);
    },
  );

  test(`Instructor gets an object in mode MD_JSON from ${way.place}, whose streams it cannot read itself`, async () => {
    const { url } = await startSpeaker(way, IN_MARKDOWN);
    expect(await instructor(url, 'MD_JSON').chat.completions.create(ASK)).toMatchObject(ADA);
  });

  test(`Instructor asks ${way.place} again for an answer that breaks its schema, with the reason`, async () => {
    const wrong = { ...IN_CALL, calls: [{ id: 'call_1', name: 'User', arguments: '{"name":1}' }] };
    const { url, bodies } = await startSpeaker(way, wrong, IN_CALL);
    const answer = await instructor(url).chat.completions.create({ ...ASK, max_retries: 1 });
    expect(answer).toMatchObject(ADA);
    expect(JSON.stringify(bodies()[1]?.['messages'])).toContain('errors encountered');
  });
});
