import type { AgentView, OwnerChoice } from '#shared/agent.ts';
import { type Answer, type Caller, jsonBody } from './client.ts';

export type AgentState =
  | { readonly kind: 'on'; readonly view: AgentView }
  /** Switched off by its owner; the message says how to switch it on. */
  | { readonly kind: 'off'; readonly message: string };

export function createAgent({ call, act }: Pick<Caller, 'call' | 'act'>) {
  let last: AgentState | null = null;
  return {
    read: async (): Promise<Answer<AgentState>> => {
      // An agent stays switched off until the gateway restarts.
      if (last?.kind === 'off') return { ok: true, value: last };
      const answer = await call<AgentView>('/api/v1/agent');
      // The only conflict on this path is an agent that is switched off.
      const isOff = !answer.ok && answer.status === 409;
      if (!answer.ok && !isOff) return answer;
      last = answer.ok
        ? { kind: 'on', view: answer.value }
        : { kind: 'off', message: answer.refusal.message };
      return { ok: true, value: last };
    },
    /** The last answer; null before the first. */
    last: () => last,
    setMode: (choice: OwnerChoice) => act('/api/v1/agent/mode', jsonBody('POST', { mode: choice })),
    /** Frees the memory for so many minutes; null: until the owner resumes. */
    free: (minutes: number | null) =>
      act('/api/v1/agent/free', jsonBody('POST', minutes === null ? {} : { minutes })),
    changeModel: (model: string, action: 'load' | 'unload') =>
      act('/api/v1/agent/models', jsonBody('POST', { model, action })),
    /** Joins the gateway named in a line from its "Add a machine". */
    join: (line: string) => act('/api/v1/agent/join', jsonBody('POST', { line })),
    /** To be called when the gateway may have restarted, possibly with its agent switched on. */
    reconsider: (): void => {
      if (last?.kind === 'off') last = null;
    },
  };
}
