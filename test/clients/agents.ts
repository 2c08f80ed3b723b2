import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';
import { OpenAI } from 'openai';
import { z } from 'zod';
import { type Client, IMAGE, KEY, MODEL } from './client.ts';

/** `@openai/agents`, whose default is the Responses API. */
function agents(api: Client['api']): Client {
  const runner = (base: string) => {
    const openAIClient = new OpenAI({ baseURL: base, apiKey: KEY, maxRetries: 0 });
    const modelProvider = new OpenAIProvider({ openAIClient, useResponses: api === 'responses' });
    return new Runner({ modelProvider, tracingDisabled: true });
  };
  const agent = new Agent({ name: 'a', model: MODEL });
  return {
    name: '@openai/agents',
    api,
    async text(base) {
      return (await runner(base).run(agent, 'hi')).finalOutput ?? '';
    },
    async *stream(base, signal) {
      const run = await runner(base).run(agent, 'hi', { stream: true, signal });
      yield* run.toTextStream();
      await run.completed;
    },
    async withTool(base, weather) {
      const description = 'The weather of a city';
      const parameters = z.object({ city: z.string() });
      const execute = ({ city }: { city: string }) => weather(city);
      const tools = [tool({ name: 'weather', description, parameters, execute })];
      const withTools = new Agent({ name: 'a', model: MODEL, tools });
      return (await runner(base).run(withTools, 'hi')).finalOutput ?? '';
    },
    async structured(base) {
      const outputType = z.object({ a: z.number() });
      return (await runner(base).run(new Agent({ name: 'a', model: MODEL, outputType }), 'hi'))
        .finalOutput;
    },
    async image(base) {
      const content = [{ type: 'input_image' as const, image: IMAGE }];
      return (await runner(base).run(agent, [{ role: 'user', content }])).finalOutput ?? '';
    },
  };
}

export const AGENTS = [agents('responses'), agents('chat')];
