import type { AgentView, AgentWish, DoctorReport } from '#shared/agent.ts';
import { type Answer, type Client, createCaller, jsonBody, type Refusal } from './client.ts';

/** The agent of the gateway's machine, or the reason why there is none. */
export type AgentSeen =
  | { readonly kind: 'on'; readonly view: AgentView }
  /** Switched off by its owner; the message says how to switch it on. */
  | { readonly kind: 'off'; readonly message: string };

/** The agent of the gateway's machine, read and controlled by the page. */
export interface Agent {
  readonly read: () => Promise<Answer<AgentSeen>>;
  /** The last answer; null before the first. */
  readonly last: () => AgentSeen | null;
  readonly setWish: (wish: AgentWish) => Promise<Refusal | null>;
  /** Joins the gateway named in a line from its "Add a machine". */
  readonly join: (line: string) => Promise<Refusal | null>;
  /** Runs the gateway's checks on the machine itself, which takes seconds. */
  readonly examine: () => Promise<Answer<DoctorReport>>;
  /** To be called when the gateway may have restarted, possibly with its agent switched on. */
  readonly reconsider: () => void;
}

export function createAgent(client: Pick<Client, 'request'>, answered: () => void): Agent {
  const { call, order } = createCaller(client, answered);
  let last: AgentSeen | null = null;
  return {
    async read() {
      // An agent stays switched off until the gateway restarts.
      if (last?.kind === 'off') return { ok: true, value: last };
      const answer = await call('/api/v1/agent');
      // The only conflict on this path is an agent that is switched off.
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
