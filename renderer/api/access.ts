import { type Answer, type Client, createCaller, type Refusal } from './client.ts';
import { type ZipEntry, zipOf } from './zip.ts';

/** A browser that keeps control across restarts. */
export interface RememberedBrowser {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly seenAt: number;
}

interface AboutGateway {
  readonly version: string;
  readonly dataDirectory: string;
  readonly node: string;
  readonly platform: string;
  readonly uptimeSeconds: number;
}

/** Remembered browsers, the log and the diagnostics. */
export interface Access {
  readonly about: () => Promise<Answer<AboutGateway>>;
  readonly browsers: () => Promise<Answer<readonly RememberedBrowser[]>>;
  /** Resolves with an error message, or null. */
  readonly remember: (name: string) => Promise<string | null>;
  readonly forget: (id: string) => Promise<Refusal | null>;
  /** Null if the log is not written to a file. */
  readonly logs: () => Promise<Answer<readonly string[] | null>>;
  /** Everything for a bug report, as a ZIP archive; secrets are masked by the gateway. */
  readonly diagnostics: () => Promise<Blob>;
}

const DIAGNOSTICS = ['about', 'status', 'settings', 'agent', 'providers'] as const;

export function createAccess(client: Client, answered: () => void): Access {
  const { call, order } = createCaller(client, answered);
  const logs: Access['logs'] = async () => {
    const answer = await call('/api/v1/logs');
    if (!answer.ok) return answer;
    const { lines } = answer.value as { readonly lines: readonly string[] | null };
    return { ok: true, value: lines };
  };
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
    logs,
    async diagnostics() {
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
