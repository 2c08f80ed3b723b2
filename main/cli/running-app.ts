import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseVisible } from '#shared/visible.ts';
import { memberOf } from '../platform/json.ts';
import { isAlive } from '../platform/process.ts';
import { readControlToken } from '../platform/secrets.ts';
import { EXIT, type CommandOutcome } from './outcome.ts';

/** The running Switchyard of a data directory, with its control token. */
export interface Running {
  readonly url: string;
  readonly startedAt: string;
  readonly controlToken: string;
}

/** Null if none is running. */
export function findRunning(dataDirectory: string): Running | null {
  const owner = readRunFile(dataDirectory);
  const controlToken = readControlToken(dataDirectory);
  return owner === null || controlToken === null ? null : { ...owner, controlToken };
}

type CallResult<Body> =
  | { readonly error: null; readonly body: Body }
  /** Human-readable; the gateway's own message if it sent one. */
  | { readonly error: string; readonly body: null };

/** A call to a control route; one that only reads has no `json`. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Under `/api/v1/`. */
  readonly path: string;
  readonly json?: unknown;
  readonly timeoutMs?: number;
}

/** Enough for a join, during which the gateway calls another machine. */
const TIMEOUT_MS = 15_000;

/** The body's type is not checked, because the same program answers. */
export async function callRunning<Body>(
  { url, controlToken }: Omit<Running, 'startedAt'>,
  { method, path, json, timeoutMs = TIMEOUT_MS }: Call,
): Promise<CallResult<Body>> {
  const type = json === undefined ? {} : { 'content-type': 'application/json' };
  try {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${controlToken}`, ...type },
      body: json === undefined ? null : JSON.stringify(json),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const body = parseVisible(await response.text());
    if (response.ok) return { body: body as Body, error: null };
    const message = memberOf(body, 'error', 'message');
    return { body: null, error: typeof message === 'string' ? message : `HTTP ${response.status}` };
  } catch {
    return { body: null, error: `The Switchyard running at ${url} did not answer; restart it.` };
  }
}

type AskResult<Body> =
  | { readonly kind: 'answered'; readonly body: Body; readonly url: string }
  | Extract<CommandOutcome, { readonly kind: 'failed' }>;

export async function ask<Body>(dataDirectory: string, call: Call): Promise<AskResult<Body>> {
  const running = findRunning(dataDirectory);
  if (running === null) return notRunning(dataDirectory);
  const { body, error } = await callRunning<Body>(running, call);
  if (error === null) return { kind: 'answered', body, url: running.url };
  return { kind: 'failed', message: error, exitCode: EXIT.failed };
}

export function notRunning(
  dataDirectory: string,
): Extract<CommandOutcome, { readonly kind: 'failed' }> {
  const message = `No gateway is running with the data directory ${dataDirectory}. Start one with "switchyard start", or set SWITCHYARD_DATA_DIR to the data directory of the running one.`;
  return { kind: 'failed', message, exitCode: EXIT.notRunning };
}

/** Written by the running gateway: main/platform/data-lock.ts. */
const FILE = 'running.json';

/**
 * The running gateway's address and start time; null if there is no file, or if its process died without removing it:
 * another program may use the port by now and must not receive the control token.
 */
function readRunFile(directory: string): Omit<Running, 'controlToken'> | null {
  try {
    const { url, pid, startedAt } = JSON.parse(readFileSync(join(directory, FILE), 'utf8')) as {
      url?: unknown;
      pid?: unknown;
      startedAt?: unknown;
    };
    if (typeof url !== 'string' || typeof pid !== 'number' || !isAlive(pid)) return null;
    return { url, startedAt: String(startedAt) };
  } catch {
    return null;
  }
}
