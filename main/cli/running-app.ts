import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readControlToken } from '../platform/secrets.ts';

/** The running Switchyard of a data directory, with its control token. */
export interface Running {
  readonly url: string;
  readonly controlToken: string;
}

/** Null if none runs. */
export function findRunning(dataDirectory: string): Running | null {
  const url = readRunFile(dataDirectory);
  const controlToken = readControlToken(dataDirectory);
  return url === null || controlToken === null ? null : { url, controlToken };
}

interface Called {
  readonly body: Readonly<Record<string, unknown>>;
  /** For people, in the gateway's words if it sent any; null on success. */
  readonly error: string | null;
}

/** A call of a control route; one that only reads has no `json`. */
interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Under `/api/v1/`. */
  readonly path: string;
  readonly json?: unknown;
}

/** Enough for a join, which calls another machine in turn. */
const TIMEOUT_MS = 15_000;

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

/** On failure prints why, sets exit code 1 and returns null. */
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

/** Written by the running gateway, see main/platform/data-lock.ts. */
const FILE = 'running.json';

/**
 * The running gateway's address; null if there is no file, or if its process died without removing it: another
 * program may use the port by now, and must not receive the control token.
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
    // EPERM: the process exists, but belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
