import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { withTimeout } from './async.ts';
import { ByteBuffer } from './byte-buffer.ts';
import type { Clock } from './clock.ts';
import { codeOf, isExhausted, localNetworkHint } from './errors.ts';
import { bareHost, type CheckedUrl, portOf, serverNameOf } from './network-guard.ts';

interface PinnedRequest {
  readonly method: 'GET' | 'POST';
  readonly to: CheckedUrl;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON, or null for none. */
  readonly body: string | null;
  /** For the whole exchange, from the connection attempt to the last byte of the body. */
  readonly timeoutMs: number;
}

export type PinnedResult =
  | {
      readonly kind: 'response';
      readonly status: number;
      readonly headers: IncomingMessage['headers'];
      readonly body: Buffer;
    }
  /** The response did not end within its time. */
  | { readonly kind: 'timeout'; readonly error: string }
  | { readonly kind: 'failed'; readonly error: string }
  /** No file descriptor was left for the connection. */
  | { readonly kind: 'exhausted' }
  | { readonly kind: 'aborted' };

interface PinnedEdges {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Certificate authorities to trust in place of the system's, as PEM. */
  readonly ca?: string;
}

/** For a connection attempt, TLS included. */
const CONNECT_TIMEOUT_MS = 3000;
/** Larger than any health report or model list. */
const MAX_BODY_BYTES = 64 * 1024;
const MAX_HEAD_BYTES = 16 * 1024;
/** A malicious server could send interim responses (1xx) for ever. */
const MAX_INTERIM = 8;

/**
 * Sends a request to the checked address and no other: the name is not resolved again, while the Host
 * header and the certificate's name are the URL's own. Redirects are not followed, and the connection is
 * not kept. Never rejects.
 */
export async function sendPinned(
  request: PinnedRequest,
  edges: PinnedEdges,
): Promise<PinnedResult> {
  const { clock, signal } = edges;
  const { timeoutMs: ms } = request;
  if (signal.aborted) return { kind: 'aborted' };
  const outgoing = open(request, edges);
  const end = await withTimeout(outcomeOf(outgoing, request, clock), { clock, ms, signal });
  outgoing.destroy();
  switch (end.kind) {
    case 'settled':
      return end.value;
    case 'timed_out':
      return { kind: 'timeout', error: `no answer in ${seconds(ms)}` };
    case 'aborted':
      return end;
  }
}

function outcomeOf(
  outgoing: ClientRequest,
  request: PinnedRequest,
  clock: Clock,
): Promise<PinnedResult> {
  return new Promise((resolve) => {
    const fail = (error: string) => resolve({ kind: 'failed', error });
    const cancelConnecting = clock.after(CONNECT_TIMEOUT_MS, () =>
      fail(`no connection in ${seconds(CONNECT_TIMEOUT_MS)}`),
    );
    const connected = request.to.url.protocol === 'https:' ? 'secureConnect' : 'connect';
    outgoing.on('socket', (socket) => socket.once(connected, cancelConnecting));
    outgoing.on('close', cancelConnecting);
    let interim = 0;
    outgoing.on('information', () => {
      interim += 1;
      if (interim > MAX_INTERIM) fail('too many interim responses');
    });
    outgoing.on('upgrade', () => fail('HTTP 101: the protocol was switched'));
    outgoing.on('response', (incoming) => read(incoming, resolve));
    // Never removed: an error after the end would have no listener, which ends the process.
    outgoing.on('error', (error) => {
      if (isExhausted(error)) resolve({ kind: 'exhausted' });
      else fail(textFor(error));
    });
    outgoing.end(request.body ?? undefined);
  });
}

function open({ method, to, headers, body }: PinnedRequest, { ca }: PinnedEdges): ClientRequest {
  const { url, address } = to;
  const length = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const options = {
    method,
    host: address,
    port: portOf(url),
    path: url.pathname + url.search,
    headers: { ...headers, ...length, host: url.host, connection: 'close' },
    agent: false,
    maxHeaderSize: MAX_HEAD_BYTES,
  };
  if (url.protocol === 'http:') return httpRequest(options);
  const servername = serverNameOf(bareHost(url.hostname));
  return httpsRequest({ ...options, servername, ...(ca === undefined ? {} : { ca }) });
}

function read(incoming: IncomingMessage, resolve: (result: PinnedResult) => void): void {
  const body = new ByteBuffer();
  incoming.on('data', (part: Buffer) => {
    body.add(part);
    if (body.length > MAX_BODY_BYTES) {
      resolve({ kind: 'failed', error: `the answer is over ${MAX_BODY_BYTES / 1024} KiB` });
    }
  });
  incoming.on('end', () => {
    const { statusCode: status = 0, headers } = incoming;
    resolve({ kind: 'response', status, headers, body: body.take() });
  });
  incoming.on('error', () => resolve({ kind: 'failed', error: 'the answer was cut off' }));
}

const seconds = (ms: number) => `${ms / 1000} s`;

/** Error codes of Node and OpenSSL. */
const TEXTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was closed',
  EPIPE: 'the connection was closed',
  EHOSTUNREACH: `no route to the machine${localNetworkHint()}`,
  EHOSTDOWN: 'the machine is down',
  ENETUNREACH: 'no route to the network',
  EADDRNOTAVAIL: 'no route to the network',
  ETIMEDOUT: 'no connection in time',
  EPROTO: 'the TLS handshake failed',
  CERT_HAS_EXPIRED: 'certificate expired',
  CERT_NOT_YET_VALID: 'certificate not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate is from an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate is from an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate is from an unknown authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate is for another name',
  HPE_HEADER_OVERFLOW: `the answer's head is over ${MAX_HEAD_BYTES / 1024} KiB`,
};

function textFor(error: Error): string {
  const code = codeOf(error) ?? '';
  if (code.startsWith('HPE_')) return TEXTS[code] ?? 'the answer is not HTTP';
  if (code.startsWith('ERR_SSL_')) return 'the TLS handshake failed';
  return TEXTS[code] ?? `the request failed (${code === '' ? error.name : code})`;
}
