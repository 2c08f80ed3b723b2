import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readControlToken } from '../platform/secrets.ts';

/** A Switchyard that runs with the same data directory, and the right to control it. */
export interface Running {
  readonly url: string;
  readonly controlToken: string;
}

/** The one that runs with a data directory; null where none does. */
export function findRunning(dataDirectory: string): Running | null {
  const url = readRunFile(dataDirectory);
  const controlToken = readControlToken(dataDirectory);
  return url === null || controlToken === null ? null : { url, controlToken };
}

/** What came of a call. */
interface Called {
  readonly body: Readonly<Record<string, unknown>>;
  /** For people, the gateway's own words where it has any; null when it was done. */
  readonly error: string | null;
}

/** One call of the control routes; `json` is left out of one that only reads. */
interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Under `/api/v1/`. */
  readonly path: string;
  readonly json?: unknown;
}

/** As long as a join takes, which asks another machine in turn. */
const TIMEOUT_MS = 15_000;

/** Calls the Switchyard that runs here, as its owner. */
export async function callRunning(
  { url, controlToken }: Running,
  { method, path, json }: Call,
): Promise<Called> {
  const type = json === undefined ? {} : { 'content-type': 'application/json' };
  try {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${controlToken}`, ...type },
      body: json === undefined ? null : JSON.stringify(json),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const body = (await response.json()) as Readonly<Record<string, unknown>>;
    if (response.ok) return { body, error: null };
    const { message } = (body['error'] ?? {}) as { readonly message?: unknown };
    return { body, error: typeof message === 'string' ? message : `HTTP ${response.status}` };
  } catch {
    return { body: {}, error: `The Switchyard that runs at ${url} did not answer; restart it.` };
  }
}

/** Makes one call as a command does: null where none runs or it was refused, with why and exit code 1. */
export async function command(dataDirectory: string, call: Call): Promise<Called['body'] | null> {
  const running = findRunning(dataDirectory);
  const { body, error } =
    running === null
      ? { body: {}, error: noneRuns(dataDirectory) }
      : await callRunning(running, call);
  if (error === null) return body;
  process.stderr.write(`${error}\n`);
  process.exitCode = 1;
  return null;
}

const noneRuns = (dataDirectory: string) =>
  `No gateway runs with the data directory ${dataDirectory}. Start one with "npm start", or set SWITCHYARD_DATA_DIR to the directory of the one that runs.`;

const FILE = 'running.json';

/** Says where the running gateway of this data directory is, so that `switchyard open` finds it. */
export function writeRunFile(directory: string, url: string): void {
  writeFileSync(join(directory, FILE), `${JSON.stringify({ url, pid: process.pid })}\n`, {
    mode: 0o600,
  });
}

/** Takes it back when the gateway stops. */
export function removeRunFile(directory: string): void {
  rmSync(join(directory, FILE), { force: true });
}

/**
 * The running gateway's address; null when none has said so, or when it died without taking it back:
 * its port may be another program's by now, which must not be shown the control token.
 */
function readRunFile(directory: string): string | null {
  try {
    const { url, pid } = JSON.parse(readFileSync(join(directory, FILE), 'utf8')) as {
      url?: unknown;
      pid?: unknown;
    };
    return typeof url === 'string' && typeof pid === 'number' && isAlive(pid) ? url : null;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Another user's process may not be signalled, but it is there.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
