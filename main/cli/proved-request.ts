import { type IncomingMessage, request, type RequestOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import { controlProof, otherEnd } from '../platform/control-proof.ts';
import { memberOf, parseJson } from '../platform/json.ts';
import { portOf } from '../platform/network-guard.ts';
import { newSecret } from '../platform/secrets.ts';

/** A gateway that shares the control token. */
export interface OwnGateway {
  readonly url: string;
  readonly controlToken: string;
}

export interface ProvedRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** JSON, or null for none. */
  readonly body: string | null;
  /** For the whole exchange after the proof; null: as long as it takes. */
  readonly timeoutMs: number | null;
}

export type Sent =
  | { readonly kind: 'answered'; readonly response: IncomingMessage }
  /** Whoever listens there does not know the control token, and was told nothing but a nonce. */
  | { readonly kind: 'stranger' }
  | { readonly kind: 'unreached'; readonly error: unknown };

const PROOF_TIMEOUT_MS = 15_000;
/** A proof takes a hundred; a stranger may send for ever. */
const MAX_PROOF_BYTES = 4096;

/**
 * Sends a request with the control token to the gateway at `url`, on the connection on which it has proved that it knows
 * the token: a program that takes the port between the two gets nothing (docs/http-api.md#proof).
 */
export async function sendProved(
  { url, controlToken }: OwnGateway,
  { method, path, body, timeoutMs }: ProvedRequest,
): Promise<Sent> {
  const to = new URL(url);
  const socket = connect({ host: to.hostname.replace(/^\[(.*)\]$/, '$1'), port: portOf(to) });
  // Requests have listeners of their own, but there is none between the two.
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
      ...(timeoutMs === null ? {} : { signal: AbortSignal.timeout(timeoutMs) }),
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
  let text = '';
  for await (const part of response.setEncoding('utf8')) {
    text += String(part);
    if (text.length > MAX_PROOF_BYTES) return false;
  }
  return response.statusCode === 200 && memberOf(parseJson(text), 'proof') === expected;
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
