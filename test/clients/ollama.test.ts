import { Ollama } from 'ollama';
import { expect, test } from 'vitest';
import { rejectionOf } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { MODEL } from './client.ts';

// The `ollama` package, unmodified. It speaks Ollama's own API, which the gateway does not serve; what asks Ollama by
// its OpenAI mode is an OpenAI client.

const messages = [{ role: 'user', content: 'hi' }];

const CALLS: readonly (readonly [string, (client: Ollama) => Promise<unknown>])[] = [
  ['chat', (client) => client.chat({ model: MODEL, messages })],
  ['a streamed chat', (client) => client.chat({ model: MODEL, messages, stream: true })],
  ['generate', (client) => client.generate({ model: MODEL, prompt: 'hi' })],
  ['embed', (client) => client.embed({ model: MODEL, input: 'hi' })],
  ['embeddings', (client) => client.embeddings({ model: MODEL, prompt: 'hi' })],
  ['list', (client) => client.list()],
  ['ps', (client) => client.ps()],
  ['show', (client) => client.show({ model: MODEL })],
  ['pull', (client) => client.pull({ model: MODEL })],
  ['push', (client) => client.push({ model: MODEL })],
  ['create', (client) => client.create({ model: MODEL, from: 'n' })],
  ['copy', (client) => client.copy({ source: MODEL, destination: 'n' })],
  ['delete', (client) => client.delete({ model: MODEL })],
  ['version', (client) => client.version()],
];

test.each(CALLS)(
  'the Ollama call %s is refused with words that say what to use',
  async (_name, call) => {
    const { url } = await startGateway({});
    expect(await rejectionOf(call(new Ollama({ host: url })))).toMatchObject({
      name: 'ResponseError',
      status_code: 404,
      message: expect.stringContaining('a base URL ending in /v1') as string,
    });
  },
);
