import { type Caller, type Client, partOf } from './client.ts';
import { type ZipEntry, zipOf } from './zip.ts';

/** A browser that keeps control across restarts. */
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

/** Remembered browsers, the log and the diagnostics. */
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
    /** Everything for a bug report, as a ZIP archive; secrets are masked by the gateway. */
    diagnostics: async (): Promise<Blob> => {
      const parts = DIAGNOSTICS.map(async (part): Promise<ZipEntry> => {
        const answer = await call(`/api/v1/${part}`);
        const said = answer.ok ? answer.value : answer.refusal.message;
        return { name: `${part}.json`, text: `${JSON.stringify(said, null, 2)}\n` };
      });
      const log = async (): Promise<readonly ZipEntry[]> => {
        const answer = await logs();
        const lines = answer.ok ? answer.value : [answer.refusal.message];
        return lines === null ? [] : [{ name: 'log.txt', text: `${lines.join('\n')}\n` }];
      };
      return zipOf([...(await Promise.all(parts)), ...(await log())], new Date());
    },
  };
}
