import { jsonSchema, tool } from 'ai';

/** A tool of the Vercel AI SDK that notes what it is asked. */
export function weather(asked: unknown[]) {
  return tool({
    description: 'weather',
    inputSchema: jsonSchema<{ city: string }>({
      type: 'object',
      properties: { city: { type: 'string' } },
    }),
    execute(input) {
      asked.push(input);
      return 'rain';
    },
  });
}
