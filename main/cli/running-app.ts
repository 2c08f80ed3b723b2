import { type IncomingMessage, request, type RequestOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { parseVisible } from '#shared/visible.ts';
import { controlProof, otherEnd, newSecret, readControlToken } from '../platform/secrets.ts';
import { memberOf, parseJson } from '../platform/json.ts';
import { bareHost, portOf } from '../platform/network-guard.ts';
import { VERSION } from '../platform/process.ts';
import { type CommandOutcome, EXIT } from './command.ts';

/** The running Inglenook of a data directory, with its control token. */
export interface Running extends OwnGateway {
  readonly startedAt: string;
  readonly version?: string;
}

/** Null if none is running, or none listens yet. */
export async function findRunning(dataDirectory: string): Promise<Running | null> {
  const { ownerOf } = await import('../platform/data-lock.ts');
  const owner = ownerOf(dataDirectory);
  const controlToken = readControlToken(dataDirectory);
  if (owner === null || owner.url === null || controlToken === null) return null;
  return { ...owner, url: owner.url, controlToken };
}

type CallResult<Body> =
  | { readonly error: null; readonly body: Body }
  /** Human-readable; the gateway's own message if it sent one. */
  | { readonly error: string; readonly body: null };

/** A call to a control route; one that only reads has no `json`. */
interface Call {
  readonly method: ProvedRequest['method'];
  /** The part of the path after `/api/v1/`. */
  readonly path: string;
  readonly json?: unknown;
  readonly timeoutMs?: number;
  /** Whether a gateway of another version may be called, too. */
  readonly isOfAnyVersion?: true;
}

/** Enough for a join, during which the gateway calls another machine. */
const TIMEOUT_MS = 15_000;

/** `Body` is what a gateway of this version answers: others are not asked. */
export async function callRunning<Body>(
  running: Running,
  { method, path, json, timeoutMs = TIMEOUT_MS, isOfAnyVersion }: Call,
): Promise<CallResult<Body>> {
  const { url } = running;
  if (running.version !== VERSION && isOfAnyVersion !== true)
    return { body: null, error: otherVersion(running) };
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
  return { body: value as Body, error: null };
}

function parsed(said: string): unknown {
  try {
    return parseVisible(said);
  } catch {
    return undefined;
  }
}

const silentAt = (url: string) => `The Inglenook running at ${url} did not answer; restart it.`;

/** What a user is told if another program has the address, or the gateway is too old to prove itself. */
const strangerAt = (url: string) =>
  `Could not verify that the program at ${url} is your gateway, so no token was sent. Restart the gateway (it may be an older version). If another program uses that address, stop it first.`;

const otherVersion = ({ url, version }: Running) =>
  `The Inglenook running at ${url} is ${version === undefined ? 'another version' : `version ${version}`}, and this command is version ${VERSION}: restart it, so that both are the same.`;

type AskResult<Body> =
  | { readonly kind: 'answered'; readonly body: Body; readonly url: string }
  | Extract<CommandOutcome, { readonly kind: 'failed' }>;

export async function ask<Body>(dataDirectory: string, call: Call): Promise<AskResult<Body>> {
  const running = await findRunning(dataDirectory);
  if (running === null) return notRunning(dataDirectory);
  const { body, error } = await callRunning<Body>(running, call);
  if (error === null) return { kind: 'answered', body, url: running.url };
  return { kind: 'failed', message: error, exitCode: EXIT.failed };
}

type OutcomeOf<Body> = (body: Body) => CommandOutcome;

/** Turns the running gateway's answer into the outcome of a command. */
export async function askThen<Body>(
  dataDirectory: string,
  call: Call,
  outcomeOf: OutcomeOf<Body>,
): Promise<CommandOutcome> {
  const asked = await ask<Body>(dataDirectory, call);
  return asked.kind === 'failed' ? asked : outcomeOf(asked.body);
}

function notRunning(dataDirectory: string): Extract<CommandOutcome, { readonly kind: 'failed' }> {
  const message = `No gateway is running with the data directory ${dataDirectory}. Start one with "inglenook start", or set INGLENOOK_DATA_DIR to the data directory of the running one.`;
  return { kind: 'failed', message, exitCode: EXIT.notRunning };
}

interface OwnGateway {
  readonly url: string;
  readonly controlToken: string;
}

interface ProvedRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** JSON, or null for none. */
  readonly body: string | null;
  /** Limits the whole exchange after the proof. */
  readonly timeoutMs: number;
}

type SendResult =
  | { readonly kind: 'answered'; readonly response: IncomingMessage }
  /** The program that listens there does not know the control token, and got nothing but a nonce. */
  | { readonly kind: 'stranger' }
  | { readonly kind: 'unreached'; readonly error: unknown };

const PROOF_TIMEOUT_MS = 15_000;
/** A proof takes a hundred bytes, but another program may send for ever. */
const MAX_PROOF_BYTES = 4096;

/**
 * Sends a request with the control token to the gateway at `url`, on the connection on which it has proved that it knows
 * the token: a program that takes the port between the two gets nothing (docs/contributing/agent-protocol.md#proof).
 */
async function sendProved(
  { url, controlToken }: OwnGateway,
  { method, path, body, timeoutMs }: ProvedRequest,
): Promise<SendResult> {
  const to = new URL(url);
  const socket = connect({ host: bareHost(to.hostname), port: portOf(to) });
  // Each of the two requests has a listener of its own, but between them there is none.
  socket.on('error', () => {});
  try {
    if (!(await isProved(url, controlToken, socket))) {
      socket.destroy();
      return { kind: 'stranger' };
    }
    const type = body === null ? {} : { 'content-type': 'application/json' };
    const options = {
      method,
      headers: { authorization: `Bearer ${controlToken}`, connection: 'close', ...type },
      signal: AbortSignal.timeout(timeoutMs),
    };
    return { kind: 'answered', response: await exchange(url + path, options, socket, body) };
  } catch (error) {
    socket.destroy();
    return { kind: 'unreached', error };
  }
}

async function isProved(url: string, controlToken: string, socket: Socket): Promise<boolean> {
  const nonce = newSecret();
  const options = {
    headers: { connection: 'keep-alive' },
    signal: AbortSignal.timeout(PROOF_TIMEOUT_MS),
  };
  const response = await exchange(`${url}/api/v1/proof?nonce=${nonce}`, options, socket);
  const expected = controlProof(controlToken, nonce, otherEnd(socket));
  let body = '';
  for await (const part of response.setEncoding('utf8')) {
    body += String(part);
    if (body.length > MAX_PROOF_BYTES) return false;
  }
  return response.statusCode === 200 && memberOf(parseJson(body), 'proof') === expected;
}

function exchange(
  url: string,
  options: RequestOptions,
  socket: Socket,
  body: string | null = null,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, { ...options, createConnection: () => socket }, resolve)
      .on('error', reject)
      .end(body ?? undefined);
  });
}
