import type { AgentView, AgentWish, DoctorReport } from '#shared/agent.ts';
import { createCaller, type Answer } from './call.ts';
import { jsonBody, type Client, type Refusal } from './client.ts';

/** The agent of the gateway's machine, or why there is none. */
export type AgentSeen =
  | { readonly kind: 'on'; readonly view: AgentView }
  /** Its owner has switched it off; the message says how it comes back. */
  | { readonly kind: 'off'; readonly message: string };

/** The agent as the page reads and steers it. */
export interface Agent {
  readonly read: () => Promise<Answer<AgentSeen>>;
  /** As last read, null before. */
  readonly last: () => AgentSeen | null;
  readonly setWish: (wish: AgentWish) => Promise<Refusal | null>;
  /** Reports to the gateway of a line from its "Add a machine". */
  readonly join: (line: string) => Promise<Refusal | null>;
  /** Runs the gateway's checks on the machine itself; takes seconds. */
  readonly examine: () => Promise<Answer<DoctorReport>>;
  /** Another run of the gateway may have an agent where this one had none. */
  readonly reconsider: () => void;
}

export function createAgent(client: Pick<Client, 'request'>, answered: () => void): Agent {
  const { call, order } = createCaller(client, answered);
  let last: AgentSeen | null = null;
  return {
    async read() {
      // It stays so until the gateway starts again.
      if (last?.kind === 'off') return { ok: true, value: last };
      const answer = await call('/api/v1/agent');
      // The path conflicts with nothing but an agent that is switched off.
      const isOff = !answer.ok && answer.status === 409;
      if (!answer.ok && !isOff) return answer;
      last = answer.ok
        ? { kind: 'on', view: answer.value as AgentView }
        : { kind: 'off', message: answer.refusal.message };
      return { ok: true, value: last };
    },
    last: () => last,
    setWish: (wish) => order('/api/v1/agent/mode', jsonBody('POST', { wish })),
    join: (line) => order('/api/v1/agent/join', jsonBody('POST', { line })),
    async examine() {
      const answer = await call('/api/v1/agent/doctor', { method: 'POST' });
      return answer.ok ? { ok: true, value: answer.value as DoctorReport } : answer;
    },
    reconsider() {
      if (last?.kind === 'off') last = null;
    },
  };
}
