import { OpenAI, OpenAIResponses } from '@llamaindex/openai';
import { type ChatMessage, type MessageContent, tool, type ToolCallLLM } from 'llamaindex';
import { z } from 'zod';
import { type Client, IMAGE, KEY, MODEL } from './client.ts';

const HI: ChatMessage = { role: 'user', content: 'hi' };

const textOf = (content: MessageContent) =>
  typeof content === 'string'
    ? content
    : content.map((part) => (part.type === 'text' ? part.text : '')).join('');

/** Its streams take no signal, so that only its client's own `fetch` can be stopped. */
const fetchUntil =
  (signal: AbortSignal): typeof fetch =>
  (url, init) =>
    fetch(url, {
      ...init,
      signal: AbortSignal.any([signal, ...(init?.signal ? [init.signal] : [])]),
    });

/** After its last piece a stream of responses repeats that piece with each event that is none. */
const isPiece = (raw: unknown) =>
  (raw as { readonly type?: string }).type?.endsWith('output_text.delta') ?? true;

const SCHEMA = z.object({ a: z.number() });

/** It hands no schema to the Responses API, but what its caller writes there. */
const FORMAT = {
  text: { format: { type: 'json_schema', name: 'a', schema: z.toJSONSchema(SCHEMA) } },
} as const;

/** `llamaindex` with `@llamaindex/openai`, on either API. */
function llamaindex(api: Client['api']): Client {
  const settings = { model: MODEL, apiKey: KEY, maxRetries: 0 };
  const model = (baseURL: string, more: { readonly fetch?: typeof fetch } = {}): ToolCallLLM =>
    api === 'responses'
      ? new OpenAIResponses({ ...settings, baseURL, additionalSessionOptions: more })
      : new OpenAI({ ...settings, baseURL, additionalSessionOptions: more });
  return {
    name: 'llamaindex',
    api,
    async text(base) {
      return textOf((await model(base).chat({ messages: [HI] })).message.content);
    },
    async *stream(base, signal) {
      const stopped = model(base, { fetch: fetchUntil(signal) });
      for await (const { delta, raw } of await stopped.chat({ messages: [HI], stream: true })) {
        if (delta !== '' && isPiece(raw)) yield delta;
      }
    },
    async withTool(base, weather) {
      const parameters = z.object({ city: z.string() });
      const execute = ({ city }: z.infer<typeof parameters>) => weather(city);
      const named = tool({ name: 'weather', description: 'Weather', parameters, execute });
      const first = await model(base).exec({ messages: [HI], tools: [named] });
      const messages = [HI, ...first.newMessages];
      const second = await model(base).exec({ messages, tools: [named] });
      return textOf(second.newMessages.at(-1)?.content ?? '');
    },
    async structured(base) {
      const how = api === 'chat' ? { responseFormat: SCHEMA } : { additionalChatOptions: FORMAT };
      const { message } = await model(base).chat({ messages: [HI], ...how });
      return JSON.parse(textOf(message.content)) as unknown;
    },
    async image(base) {
      const content = [{ type: 'image_url' as const, image_url: { url: IMAGE } }];
      const { message } = await model(base).chat({ messages: [{ role: 'user', content }] });
      return textOf(message.content);
    },
  };
}

export const LLAMAINDEX = [llamaindex('responses'), llamaindex('chat')];
