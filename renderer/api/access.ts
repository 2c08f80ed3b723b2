import type { Caller, Client } from './client.ts';

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

const DIAGNOSTICS = ['about', 'status', 'settings', 'agent', 'providers'] as const;

export type Access = ReturnType<typeof createAccess>;

export function createAccess(
  client: Pick<Client, 'remember'>,
  { call, part, act }: Caller,
  answered: () => void,
) {
  /** Null if the log is not written to a file. */
  const logs = () => part<readonly string[] | null>('lines', '/api/v1/logs');
  return {
    about: () => call<AboutGateway>('/api/v1/about'),
    browsers: () => part<readonly RememberedBrowser[]>('data', '/api/v1/browsers'),
    /** Resolves with an error message, or null. */
    remember: async (name: string): Promise<string | null> => {
      const problem = await client.remember(name);
      answered();
      return problem;
    },
    forget: (id: string) => act(`/api/v1/browsers/${encodeURIComponent(id)}`, { method: 'DELETE' }),
    logs,
    /** Everything for a bug report; secrets are masked by the gateway. */
    diagnostics: async (): Promise<Blob> => {
      const reading = [
        ...DIAGNOSTICS.map((name) => ({ name, answer: call(`/api/v1/${name}`) })),
        { name: 'log', answer: logs() },
      ].map(async ({ name, answer: asked }) => {
        const answer = await asked;
        return [name, answer.ok ? answer.value : answer.refusal.message];
      });
      const parts = await Promise.all(reading);
      const text = JSON.stringify(Object.fromEntries(parts), null, 2);
      return new Blob([`${text}\n`], { type: 'application/json' });
    },
  };
}
