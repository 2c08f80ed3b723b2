import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PoolReport, StatusReport } from '#shared/status.ts';
import { readControlToken } from '../../main/platform/secrets.ts';
import { type CutProxy, startCutProxy } from './cut-proxy.ts';
import { send } from '../support/http.ts';
import type { Registry } from '../support/registry-load.ts';

const ROOT = join(import.meta.dirname, '../..');
const SECRET = 'a1'.repeat(32);

/**
 * A gateway of a pool as a process, with a way of its own to the database, which keeps its directory over restarts.
 */
export interface PoolGateway extends Registry {
  readonly name: string;
  readonly way: CutProxy;
  /** Null while it does not run; `url` is empty until it serves. */
  readonly pid: number | null;
  /** How often it was started. */
  readonly runs: number;
  /** Resolves once it serves; `isNext` starts the version after this one. */
  start(options?: { readonly isNext: boolean }): Promise<void>;
  kill(): Promise<void>;
  /** Null where it does not answer. */
  pool(): Promise<PoolReport | null>;
  /** What it wrote to its log, over all its runs. */
  logged(...events: readonly string[]): readonly LogLine[];
}

/** A line of the log. */
export interface LogLine {
  readonly level: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

/** The version after this one: its schema has a step more, which leaves this one working. */
const NEXT_VERSION = `
import { registerHooks } from 'node:module';
const STEP = "\\nMIGRATIONS.push({ worksWith: MIGRATIONS.length, sql: " +
  "'ALTER TABLE inglenook.providers ADD COLUMN of_the_next text' });";
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.endsWith('/pool/migrations.ts')) return loaded;
    return { ...loaded, source: String(loaded.source) + STEP };
  },
});`;

/** Its files go to a folder in `directory`; it reaches the database at `databaseUrl` through a proxy. */
export async function createGateway(
  name: string,
  directory: string,
  databaseUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<PoolGateway> {
  const folder = join(directory, name);
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(folder, 'gateway-secret'), `${SECRET}\n`, { mode: 0o600 });
  const way = await startCutProxy(Number(new URL(databaseUrl).port));
  const url = new URL(databaseUrl);
  url.port = String(way.port);
  let child: ChildProcess | null = null;
  let runs = 0;
  let origin = '';

  return {
    name,
    way,
    get url() {
      return origin;
    },
    get controlToken() {
      return readControlToken(folder) ?? '';
    },
    get pid() {
      return child?.pid ?? null;
    },
    get runs() {
      return runs;
    },
    async start({ isNext } = { isNext: false }) {
      runs += 1;
      const hook = `data:text/javascript,${encodeURIComponent(NEXT_VERSION)}`;
      const now = spawn(
        process.execPath,
        [...(isNext ? ['--import', hook] : []), 'main/headless.ts'],
        {
          cwd: ROOT,
          env: {
            PATH: process.env['PATH'],
            NODE_COMPILE_CACHE: join(ROOT, '.cache/compile'),
            INGLENOOK_PORT: '0',
            INGLENOOK_AGENT: 'false',
            INGLENOOK_DATA_DIR: folder,
            INGLENOOK_DATABASE_URL: url.href,
            ...settings,
          },
          stdio: ['ignore', 'pipe', 'pipe'],
        },
      );
      child = now;
      origin = await printedOrigin(now);
    },
    async kill() {
      const last = child;
      child = null;
      origin = '';
      if (last === null || last.exitCode !== null || last.signalCode !== null) return;
      const ended = once(last, 'exit');
      last.kill('SIGKILL');
      await ended;
    },
    async pool() {
      try {
        const { text } = await send(`${origin}/api/v1/status`);
        return (JSON.parse(text) as StatusReport).pool ?? null;
      } catch {
        return null;
      }
    },
    logged: (...events) =>
      readFileSync(join(folder, 'logs/inglenook.log'), 'utf8')
        .split('\n')
        .filter((line) => events.some((event) => line.includes(`"${event}"`)))
        .map((line) => JSON.parse(line) as LogLine),
  };
}

function printedOrigin(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    const look = (text: string) => {
      said += text;
      const [, url] = /Base URL for your apps: (http:\/\/[^/\s]+)/.exec(said) ?? [];
      if (url !== undefined) resolve(url);
    };
    child.stdout?.setEncoding('utf8').on('data', look);
    child.stderr?.setEncoding('utf8').on('data', look);
    child.on('exit', () => reject(new Error(`a gateway ended: ${said}`)));
  });
}
