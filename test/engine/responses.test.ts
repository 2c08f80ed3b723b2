import { Anthropic } from '@anthropic-ai/sdk';
import { OpenAI } from 'openai';
import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { MODEL } from '../support/tier.ts';
import { startLlama } from './llama-server.ts';

// A real llama.cpp behind unmodified clients of both protocols.

const TEXT = { cycle: [' row', ' your', ' boat'] };

test('a real engine streams responses for OpenAI’s client, which learns that a limit cut them off', async () => {
  const { url: engine } = await startLlama(TEXT);
  const { url } = await startGateway({ LOCAL_ENGINE_URL: engine });
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k', maxRetries: 0 });
  const asked = { model: MODEL, input: 'hi', max_output_tokens: 16 };
  const streamed = await client.responses.stream(asked).finalResponse();
  const whole = await client.responses.create(asked);
  expect(streamed.output_text).toMatch(/boat row your/);
  for (const { status, usage } of [streamed, whole])
    expect([status, usage?.output_tokens]).toEqual(['incomplete', 16]);
});

test('a real engine that starts after its gateway is recognised by its first response', async () => {
  const first = await startLlama(TEXT);
  await first.kill();
  const { url } = await startGateway({ LOCAL_ENGINE_URL: first.url });
  await startLlama(TEXT, { port: first.port });
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k', maxRetries: 0 });
  const asked = { model: MODEL, input: 'hi', max_output_tokens: 16 };
  expect((await client.responses.stream(asked).finalResponse()).status).toBe('incomplete');
});

test('a real engine names the stop sequence that ended a message, also by way of chat completions', async () => {
  const { url: engine } = await startLlama(TEXT);
  const { url } = await startGateway({ LOCAL_ENGINE_URL: engine, LOCAL_PROTOCOLS: 'chat' });
  const client = new Anthropic({ baseURL: url, apiKey: 'k', maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'hi' }];
  const asked = { model: MODEL, max_tokens: 16, messages, stop_sequences: ['lake', 'boat'] };
  const whole = await client.messages.create(asked);
  const streamed = await client.messages.stream(asked).finalMessage();
  for (const { stop_reason: why, stop_sequence: sequence, content } of [whole, streamed]) {
    expect([why, sequence]).toEqual(['stop_sequence', 'boat']);
    expect(content).toMatchObject([{ text: ' row your ' }]);
  }
  const last = await client.messages.create({ ...asked, stop_sequences: ['lake'] });
  expect([last.stop_reason, last.stop_sequence]).toEqual(['max_tokens', null]);
});
