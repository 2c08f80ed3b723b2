import type { HistoryReport } from '#shared/usage.ts';
import { send } from './http.ts';
import { completion, json } from './upstream.ts';

/** As chat completions tell it. */
export const usageOf = (prompt: number, output: number, cached = 0) => ({
  prompt_tokens: prompt,
  completion_tokens: output,
  total_tokens: prompt + output,
  prompt_tokens_details: { cached_tokens: cached },
});

/** An answer that costs a quarter at a price of 1000 for a million tokens of output. */
export const costly = json(200, { ...completion('hi'), usage: usageOf(10, 250) });

/** The event before the end of a stream that was asked for it. */
export const usageChunk = (prompt: number, output: number, cached = 0) =>
  `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: usageOf(prompt, output, cached) })}\n\n`;

/** What the last hour came to. */
export async function history(url: string, headers = {}): Promise<HistoryReport> {
  const { text } = await send(`${url}/api/v1/history?range=hour`, { headers });
  return JSON.parse(text) as HistoryReport;
}
