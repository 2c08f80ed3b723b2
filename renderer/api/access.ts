import { createCaller, type Answer } from './call.ts';
import type { Client, Refusal } from './client.ts';

/** A browser that keeps control over restarts. */
export interface RememberedBrowser {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly seenAt: number;
}

export interface AboutGateway {
  readonly version: string;
  readonly dataDirectory: string;
  readonly node: string;
  readonly platform: string;
  readonly uptimeSeconds: number;
}

/** Who has standing control, and what an owner looks up when something is wrong. */
export interface Access {
  readonly about: () => Promise<Answer<AboutGateway>>;
  readonly browsers: () => Promise<Answer<readonly RememberedBrowser[]>>;
  /** Answers what went wrong, or null. */
  readonly remember: (name: string) => Promise<string | null>;
  readonly forget: (id: string) => Promise<Refusal | null>;
  /** Null where the log goes elsewhere. */
  readonly logs: () => Promise<Answer<readonly string[] | null>>;
  /** Everything for a bug report; secrets are masked by the gateway. */
  readonly diagnostics: () => Promise<string>;
}

const DIAGNOSTICS = ['about', 'status', 'settings', 'agent', 'providers', 'logs'] as const;

export function createAccess(client: Client, answered: () => void): Access {
  const { call, order } = createCaller(client, answered);
  return {
    about: async () => (await call('/api/v1/about')) as Answer<AboutGateway>,
    async browsers() {
      const answer = await call('/api/v1/browsers');
      if (!answer.ok) return answer;
      const { data } = answer.value as { readonly data: readonly RememberedBrowser[] };
      return { ok: true, value: data };
    },
    async remember(name) {
      const problem = await client.remember(name);
      answered();
      return problem;
    },
    forget: (id) => order(`/api/v1/browsers/${encodeURIComponent(id)}`, { method: 'DELETE' }),
    async logs() {
      const answer = await call('/api/v1/logs');
      if (!answer.ok) return answer;
      const { lines } = answer.value as { readonly lines: readonly string[] | null };
      return { ok: true, value: lines };
    },
    async diagnostics() {
      const parts = await Promise.all(
        DIAGNOSTICS.map(async (part) => {
          const answer = await call(`/api/v1/${part}`);
          return [part, answer.ok ? answer.value : answer.refusal.message] as const;
        }),
      );
      return JSON.stringify(Object.fromEntries(parts), null, 2);
    },
  };
}
