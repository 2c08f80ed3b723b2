import { text } from 'node:stream/consumers';
import type { z } from 'zod';
import { parseVisible } from '#shared/visible.ts';
import { memberOf } from '../platform/json.ts';
import { readControlToken } from '../platform/secrets.ts';
import { EXIT, type CommandOutcome } from './outcome.ts';
import { type OwnGateway, type ProvedRequest, sendProved } from './proved-request.ts';

/** The running Switchyard of a data directory, with its control token. */
export interface Running extends OwnGateway {
  readonly startedAt: string;
}

/** Null if none is running, or none listens yet. */
export async function findRunning(dataDirectory: string): Promise<Running | null> {
  const { ownerOf } = await import('../platform/data-lock.ts');
  const owner = ownerOf(dataDirectory);
  const controlToken = readControlToken(dataDirectory);
  if (owner === null || owner.url === null || controlToken === null) return null;
  return { url: owner.url, startedAt: owner.startedAt, controlToken };
}

type CallResult<Body> =
  | { readonly error: null; readonly body: Body }
  /** Human-readable; the gateway's own message if it sent one. */
  | { readonly error: string; readonly body: null };

/** A call to a control route; one that only reads has no `json`. */
export interface Call<Body> {
  readonly method: ProvedRequest['method'];
  /** Under `/api/v1/`. */
  readonly path: string;
  readonly json?: unknown;
  readonly timeoutMs?: number;
  /** What the command reads of the answer. */
  readonly answer: z.ZodType<Body>;
}

/** Enough for a join, during which the gateway calls another machine. */
const TIMEOUT_MS = 15_000;

export async function callRunning<Body>(
  running: OwnGateway,
  { method, path, json, timeoutMs = TIMEOUT_MS, answer }: Call<Body>,
): Promise<CallResult<Body>> {
  const { url } = running;
  const body = json === undefined ? null : JSON.stringify(json);
  const sent = await sendProved(running, { method, path: `/api/v1/${path}`, body, timeoutMs });
  if (sent.kind === 'stranger') return { body: null, error: strangerAt(url) };
  if (sent.kind === 'unreached') return { body: null, error: silentAt(url) };
  const { statusCode = 0 } = sent.response;
  const said = await text(sent.response).catch(() => null);
  if (said === null) return { body: null, error: silentAt(url) };
  const value = parsed(said);
  if (statusCode >= 300) {
    const message = memberOf(value, 'error', 'message');
    return { body: null, error: typeof message === 'string' ? message : `HTTP ${statusCode}` };
  }
  const read = answer.safeParse(value);
  return read.success ? { body: read.data, error: null } : { body: null, error: otherForm(url) };
}

function parsed(said: string): unknown {
  try {
    return parseVisible(said);
  } catch {
    return undefined;
  }
}

const silentAt = (url: string) => `The Switchyard running at ${url} did not answer; restart it.`;

/** For users: somebody else has the address, or the gateway is too old to prove itself. */
export const strangerAt = (url: string) =>
  `The program at ${url} did not prove that it is the gateway of this data directory, so it was not sent the control token. Restart the gateway: it may be of an earlier version. If another program has its address, stop that one first.`;

const otherForm = (url: string) =>
  `The Switchyard running at ${url} answered in a form that this command does not know; restart it, so that both are of the same version.`;

type AskResult<Body> =
  | { readonly kind: 'answered'; readonly body: Body; readonly url: string }
  | Extract<CommandOutcome, { readonly kind: 'failed' }>;

export async function ask<Body>(dataDirectory: string, call: Call<Body>): Promise<AskResult<Body>> {
  const running = await findRunning(dataDirectory);
  if (running === null) return notRunning(dataDirectory);
  const { body, error } = await callRunning(running, call);
  if (error === null) return { kind: 'answered', body, url: running.url };
  return { kind: 'failed', message: error, exitCode: EXIT.failed };
}

export function notRunning(
  dataDirectory: string,
): Extract<CommandOutcome, { readonly kind: 'failed' }> {
  const message = `No gateway is running with the data directory ${dataDirectory}. Start one with "switchyard start", or set SWITCHYARD_DATA_DIR to the data directory of the running one.`;
  return { kind: 'failed', message, exitCode: EXIT.notRunning };
}
