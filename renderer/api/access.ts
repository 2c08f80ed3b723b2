import { type Caller, type Client, partOf } from './client.ts';

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
  { call, act }: Caller,
  answered: () => void,
) {
  /** Null if the log is not written to a file. */
  const logs = async () =>
    partOf(
      await call<{ readonly lines: readonly string[] | null }>('/api/v1/logs'),
      ({ lines }) => lines,
    );
  return {
    about: () => call<AboutGateway>('/api/v1/about'),
    browsers: async () =>
      partOf(
        await call<{ readonly data: readonly RememberedBrowser[] }>('/api/v1/browsers'),
        ({ data }) => data,
      ),
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
      const read = DIAGNOSTICS.map(async (part) => {
        const answer = await call(`/api/v1/${part}`);
        return [part, answer.ok ? answer.value : answer.refusal.message] as const;
      });
      const log = await logs();
      const parts = [
        ...(await Promise.all(read)),
        ['log', log.ok ? log.value : log.refusal.message] as const,
      ];
      const text = JSON.stringify(Object.fromEntries(parts), null, 2);
      return new Blob([`${text}\n`], { type: 'application/json' });
    },
  };
}
