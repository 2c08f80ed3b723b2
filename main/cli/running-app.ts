import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseVisible } from '#shared/visible.ts';
import { readControlToken } from '../platform/secrets.ts';
import { EXIT, type Outcome } from './outcome.ts';

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
export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Under `/api/v1/`. */
  readonly path: string;
  readonly json?: unknown;
  readonly timeoutMs?: number;
}

/** Enough for a join, which calls another machine in turn. */
const TIMEOUT_MS = 15_000;

export async function callRunning(
  { url, controlToken }: Running,
  { method, path, json, timeoutMs = TIMEOUT_MS }: Call,
): Promise<Called> {
  const type = json === undefined ? {} : { 'content-type': 'application/json' };
  try {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${controlToken}`, ...type },
      body: json === undefined ? null : JSON.stringify(json),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const body = parseVisible(await response.text()) as Readonly<Record<string, unknown>>;
    if (response.ok) return { body, error: null };
    const { message } = (body['error'] ?? {}) as { readonly message?: unknown };
    return { body, error: typeof message === 'string' ? message : `HTTP ${response.status}` };
  } catch {
    return { body: {}, error: `The Switchyard that runs at ${url} did not answer; restart it.` };
  }
}

type Asked =
  | { readonly kind: 'answered'; readonly body: Called['body']; readonly url: string }
  | Extract<Outcome, { readonly kind: 'failed' }>;

export async function ask(dataDirectory: string, call: Call): Promise<Asked> {
  const running = findRunning(dataDirectory);
  if (running === null) return noneRuns(dataDirectory);
  const { body, error } = await callRunning(running, call);
  if (error === null) return { kind: 'answered', body, url: running.url };
  return { kind: 'failed', message: error, exitCode: EXIT.failed };
}

export function noneRuns(dataDirectory: string): Extract<Outcome, { readonly kind: 'failed' }> {
  const message = `No gateway runs with the data directory ${dataDirectory}. Start one with "switchyard start", or set SWITCHYARD_DATA_DIR to the directory of the one that runs.`;
  return { kind: 'failed', message, exitCode: EXIT.notRunning };
}

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
