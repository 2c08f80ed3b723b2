import { describe, expect, test } from 'vitest';
import { isObject } from '../../main/platform/json.ts';
import { createAssembly } from '../../main/gateway/protocols/assembly.ts';
import { dataOf, eventsOf } from '../../main/gateway/protocols/sse.ts';
import { startCall } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { heardMessage } from '../support/heard-message.ts';
import { framesIn } from '../support/resume.ts';
import { MODEL } from '../support/tier.ts';
import { modelsRead, startCuttingWire, startLlama } from './llama-server.ts';
import type { ModelText } from './model.ts';
import { WORDS } from './words.ts';

// Answers of a real llama.cpp that think, speak and call a tool, cut anywhere.

const TEXT: ModelText = {
  cycle: WORDS.slice(10, 20),
  thought: WORDS.slice(0, 10),
  call: { name: 'look', arguments: ['{"place": "', ...WORDS.slice(20, 30), '"}'] },
};
/** Events with a piece of the answer. */
const THOUGHT = 10;
const SPOKEN = THOUGHT + 11;

const PLACE = { type: 'object', properties: { place: { type: 'string' } } };
const ASKED = { model: MODEL, max_tokens: 90, messages: [{ role: 'user', content: 'hi' }] };
const TOLD = { name: 'look', description: 'looks' };

/** What must be the same whether an answer broke off or not; the ids of calls are the engine's own. */
type Substance = (answer: string) => unknown;

const seenInChat: Substance = (answer) => {
  const assembly = createAssembly();
  for (const event of eventsOf(framesIn(answer))) {
    const data = dataOf(event);
    if (data !== null && data !== '[DONE]') assembly.add(JSON.parse(data));
  }
  const whole: unknown = JSON.parse(assembly.result()?.toString() ?? 'null');
  const { choices, usage } = isObject(whole) ? whole : {};
  const [{ message, ...choice }] = choices as [{ message: Record<string, unknown> }];
  const calls = message['tool_calls'] as { id: string; function: unknown }[];
  const { prompt_tokens: prompt, completion_tokens: completion } = usage as Record<string, number>;
  return {
    ...choice,
    message: { ...message, tool_calls: calls.map((call) => call.function) },
    ids: calls.map(({ id }) => typeof id),
    usage: { prompt, completion },
    dones: answer.split('data: [DONE]').length - 1,
  };
};

const seenInMessage: Substance = (answer) => {
  const { starts, stops, blocks, reasons, usage } = heardMessage(answer);
  const prompt = Number(usage['input_tokens']) + Number(usage['cache_read_input_tokens']);
  const said = blocks.map(({ type, text, thinking, name, json }) => [
    type,
    text ?? thinking ?? [name, json],
  ]);
  return { starts, stops, said, reasons, usage: { prompt, output: usage['output_tokens'] } };
};

interface Way {
  readonly way: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly seen: Substance;
  readonly settings: Readonly<Record<string, string>>;
}

const CHAT: Omit<Way, 'way'> = {
  path: '/v1/chat/completions',
  body: {
    stream_options: { include_usage: true },
    tools: [{ type: 'function', function: { ...TOLD, parameters: PLACE } }],
  },
  seen: seenInChat,
  settings: {},
};
const MESSAGE: Omit<Way, 'way'> = {
  path: '/v1/messages',
  body: { tools: [{ ...TOLD, input_schema: PLACE }] },
  seen: seenInMessage,
  settings: {},
};
const CHAT_AT_A = { HOSTED_A_PROTOCOLS: 'chat' };

const WAYS: readonly Way[] = [
  { way: 'a chat completion', ...CHAT },
  { way: 'a message', ...MESSAGE },
  { way: 'a message begun as a chat completion', ...MESSAGE, settings: CHAT_AT_A },
];

describe.each(WAYS)(`$way of a real engine`, ({ way, path, body, seen, settings }) => {
  async function startResuming() {
    const { url: engine } = await startLlama(TEXT);
    const wire = await startCuttingWire(engine);
    const gateway = await startGateway({
      HOSTED_A_BASE_URL: `${wire.url}/v1`,
      HOSTED_B_BASE_URL: `${engine}/v1`,
      FAIL_THRESHOLD: '1000',
      ...settings,
    });
    await modelsRead(gateway);
    const ask = async (at: string) =>
      (await startCall(at + path, { ...ASKED, ...body, stream: true }).answer).text;
    const cutAfter = async (pieces: number) => {
      wire.after = pieces;
      const text = await ask(gateway.url);
      expect(text).toContain(': carried on by hosted_b\n\n');
      return seen(text);
    };
    return { whole: seen(await ask(engine)), cutAfter };
  }

  test(`${way} of a real engine that breaks off in its thought or its text goes on from there`, async () => {
    const { whole, cutAfter } = await startResuming();
    for (const pieces of [1, 5, THOUGHT, THOUGHT + 1, SPOKEN - 1, SPOKEN])
      expect(await cutAfter(pieces)).toEqual(whole);
  });
});
