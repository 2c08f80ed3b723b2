import { readControlToken } from './platform/control-token.ts';
import { readRunFile } from './run-file.ts';

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
export interface Called {
  readonly body: Readonly<Record<string, unknown>>;
  /** For people, the gateway's own words where it has any; null when it was done. */
  readonly error: string | null;
}

/** One call of the control routes; `json` is left out of one that only reads. */
export interface Call {
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
