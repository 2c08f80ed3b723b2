import type { HistoryReport } from '#shared/usage.ts';
import { send } from './http.ts';

/** As chat completions tell it. */
export const usageOf = (prompt: number, output: number, cached = 0) => ({
  prompt_tokens: prompt,
  completion_tokens: output,
  total_tokens: prompt + output,
  prompt_tokens_details: { cached_tokens: cached },
});

/** The event before the end of a stream that was asked for it. */
export const usageChunk = (prompt: number, output: number, cached = 0) =>
  `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: usageOf(prompt, output, cached) })}\n\n`;

/** What the last hour came to. */
export async function history(url: string, headers = {}): Promise<HistoryReport> {
  const { text } = await send(`${url}/api/v1/history?range=hour`, { headers });
  return JSON.parse(text) as HistoryReport;
}
