import { HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import { type Client, IMAGE, KEY, MODEL } from './client.ts';

const SCHEMA = z.object({ a: z.number() });

/** `@langchain/openai`, on either API. */
function langchain(api: Client['api']): Client {
  const model = (base: string) =>
    new ChatOpenAI({
      model: MODEL,
      apiKey: KEY,
      useResponsesApi: api === 'responses',
      maxRetries: 0,
      configuration: { baseURL: base },
    });
  return {
    name: '@langchain/openai',
    api,
    async text(base) {
      return (await model(base).invoke('hi')).text;
    },
    async *stream(base, signal) {
      for await (const { text } of await model(base).stream('hi', { signal })) {
        if (text !== '') yield text;
      }
    },
    async withTool(base, weather) {
      const schema = z.object({ city: z.string() });
      const run = ({ city }: z.infer<typeof schema>) => weather(city);
      const named = tool(run, { name: 'weather', description: 'The weather of a city', schema });
      const bound = model(base).bindTools([named]);
      const asked = new HumanMessage('hi');
      const first = await bound.invoke([asked]);
      const results = await Promise.all(
        (first.tool_calls ?? []).map((call) => named.invoke({ ...call, type: 'tool_call' })),
      );
      return (await bound.invoke([asked, first, ...results])).text;
    },
    structured: (base) => model(base).withStructuredOutput(SCHEMA, { name: 'a' }).invoke('hi'),
    async image(base) {
      const content = [{ type: 'image_url' as const, image_url: { url: IMAGE } }];
      return (await model(base).invoke([new HumanMessage({ content })])).text;
    },
  };
}

export const LANGCHAIN = [langchain('responses'), langchain('chat')];
