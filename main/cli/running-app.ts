import { type IncomingMessage, request, type RequestOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { parseVisible } from '#shared/visible.ts';
import type { Owner } from '../platform/data-lock.ts';
import { controlProof, newSecret, readControlToken } from '../platform/secrets.ts';
import { memberOf, parseJson } from '../platform/json.ts';
import { bareHost, portOf } from '../platform/network-guard.ts';
import { OWN_COMMAND, VERSION } from '../platform/process.ts';
import { type CommandOutcome, EXIT, failed } from './command.ts';

/** The running Inglenook of a data directory, with its control token. */
export interface Running extends Owner {
  readonly url: string;
  readonly controlToken: string;
}

/** Null if none is running, or none listens yet. */
export async function findRunning(dataDirectory: string): Promise<Running | null> {
  const { ownerOf } = await import('../platform/data-lock.ts');
  const owner = ownerOf(dataDirectory);
  const controlToken = readControlToken(dataDirectory);
  if (owner === null || owner.url === null || controlToken === null) return null;
  return { ...owner, url: owner.url, controlToken };
}

/** A call to a control route; one that only reads has no `json`. */
interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The part of the path after `/api/v1/`. */
  readonly path: string;
  readonly json?: unknown;
  /** Limits the whole exchange after the proof. */
  readonly timeoutMs?: number;
  /** Whether a gateway of another version may be called, too. */
  readonly isOfAnyVersion?: true;
}

type AskResult<Body> =
  | { readonly kind: 'answered'; readonly body: Body; readonly url: string }
  /** With the gateway's own message if it sent one. */
  | ReturnType<typeof failed>;

/** Enough for a join, during which the gateway calls another machine. */
const TIMEOUT_MS = 15_000;
const PROOF_TIMEOUT_MS = 15_000;
/** A proof takes a hundred bytes, but another program may send for ever. */
const MAX_PROOF_BYTES = 4096;

/**
 * Sends a request with the control token on the connection on which the gateway has proved that it knows the token: a
 * program that takes the port between the two gets nothing but a nonce (docs/contributing/agent-protocol.md#proof).
 * `Body` is what a gateway of this version answers: others are not asked.
 */
export async function askRunning<Body>(
  running: Running,
  { method, path, json, timeoutMs = TIMEOUT_MS, isOfAnyVersion }: Call,
): Promise<AskResult<Body>> {
  const { url, controlToken } = running;
  if (running.version !== VERSION && isOfAnyVersion !== true) return failed(otherVersion(running));
  const to = new URL(url);
  const socket = connect({ host: bareHost(to.hostname), port: portOf(to) });
  // Each of the two requests has a listener of its own, but between them there is none.
  socket.on('error', () => {});
  try {
    if (!(await isProved(url, controlToken, socket))) return failed(strangerAt(url));
    const type = json === undefined ? {} : { 'content-type': 'application/json' };
    const options = {
      method,
      headers: { authorization: `Bearer ${controlToken}`, connection: 'close', ...type },
      signal: AbortSignal.timeout(timeoutMs),
    };
    const response = await exchange(`${url}/api/v1/${path}`, options, socket, json);
    const { statusCode = 0 } = response;
    const value = parsed(await text(response));
    if (statusCode < 300) return { kind: 'answered', body: value as Body, url };
    const message = memberOf(value, 'error', 'message');
    return failed(typeof message === 'string' ? message : `HTTP ${statusCode}`);
  } catch {
    return failed(`The Inglenook running at ${url} did not answer; restart it.`);
  } finally {
    socket.destroy();
  }
}

function parsed(said: string): unknown {
  try {
    return parseVisible(said);
  } catch {
    return undefined;
  }
}

/** What a user is told if another program has the address, or the gateway is too old to prove itself. */
const strangerAt = (url: string) =>
  `Could not verify that the program at ${url} is your gateway, so no token was sent. Restart the gateway (it may be an older version). If another program uses that address, stop it first.`;

const otherVersion = ({ url, version }: Running) =>
  `The Inglenook running at ${url} is ${version === undefined ? 'another version' : `version ${version}`}, and this command is version ${VERSION}: restart it, so that both are the same.`;

export async function ask<Body>(dataDirectory: string, call: Call): Promise<AskResult<Body>> {
  const running = await findRunning(dataDirectory);
  if (running !== null) return askRunning<Body>(running, call);
  const message = `No gateway is running with the data directory ${dataDirectory}. Start one with "${OWN_COMMAND} start", or set INGLENOOK_DATA_DIR to the data directory of the running one.`;
  return failed(message, EXIT.notRunning);
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

async function isProved(url: string, controlToken: string, socket: Socket): Promise<boolean> {
  const nonce = newSecret();
  const options = {
    headers: { connection: 'keep-alive' },
    signal: AbortSignal.timeout(PROOF_TIMEOUT_MS),
  };
  const response = await exchange(`${url}/api/v1/proof?nonce=${nonce}`, options, socket);
  const end = { address: socket.remoteAddress, port: socket.remotePort };
  const expected = controlProof(controlToken, nonce, end);
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
  json?: unknown,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, { ...options, createConnection: () => socket }, resolve)
      .on('error', reject)
      .end(json === undefined ? undefined : JSON.stringify(json));
  });
}
