import type { HistoryRange, HistoryReport } from '#shared/usage.ts';
import { type Answer, type Client, createCaller } from './client.ts';

export interface History {
  readonly read: (range: HistoryRange) => Promise<Answer<HistoryReport>>;
}

export function createHistory(client: Pick<Client, 'request'>, answered: () => void): History {
  const { call } = createCaller(client, answered);
  return {
    async read(range) {
      const answer = await call(`/api/v1/history?range=${range}`);
      return answer.ok ? { ok: true, value: answer.value as HistoryReport } : answer;
    },
  };
}
