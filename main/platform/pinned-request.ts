import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { ByteBuffer } from './byte-buffer.ts';
import type { Clock } from './clock.ts';
import { type CheckedUrl, codeOf, portOf } from './network-guard.ts';

/** A small request to one checked address. */
export interface PinnedRequest {
  readonly method: 'GET' | 'POST';
  readonly to: CheckedUrl;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON, or null for none. */
  readonly body: string | null;
  /** For all of it, from the connection to the last byte of the body. */
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
  | { readonly kind: 'aborted' };

/** What a pinned request needs of the world. */
export interface PinnedEdges {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Certificate authorities to trust in place of the system's, as PEM. */
  readonly ca?: string;
}

/** What a connection attempt may take, TLS included. */
const CONNECT_TIMEOUT_MS = 3000;
/** No health report or model list is larger. */
const MAX_BODY_BYTES = 64 * 1024;
const MAX_HEAD_BYTES = 16 * 1024;
/** Interim responses (1xx) are heads without end for whoever wants to send them. */
const MAX_INTERIM = 8;

/**
 * Sends a request to a checked address and no other: the connection is made to the literal address,
 * so nothing is resolved again, while the Host header and the certificate's name are the URL's own.
 * No redirect is followed, and no connection is kept.
 */
export function sendPinned(request: PinnedRequest, edges: PinnedEdges): Promise<PinnedResult> {
  const { clock, signal } = edges;
  if (signal.aborted) return Promise.resolve({ kind: 'aborted' });
  return new Promise((resolve) => {
    const outgoing = open(request, edges);
    const settle = (result: PinnedResult) => {
      for (const cancel of [cancelTimeout, cancelConnecting]) cancel();
      signal.removeEventListener('abort', onAbort);
      outgoing.destroy();
      resolve(result);
    };
    const fail = (error: string) => settle({ kind: 'failed', error });
    const onAbort = () => settle({ kind: 'aborted' });
    const cancelTimeout = clock.after(request.timeoutMs, () =>
      settle({ kind: 'timeout', error: `no answer in ${seconds(request.timeoutMs)}` }),
    );
    const cancelConnecting = clock.after(CONNECT_TIMEOUT_MS, () =>
      fail(`no connection in ${seconds(CONNECT_TIMEOUT_MS)}`),
    );
    signal.addEventListener('abort', onAbort);
    const connected = request.to.url.protocol === 'https:' ? 'secureConnect' : 'connect';
    outgoing.on('socket', (socket) => socket.once(connected, cancelConnecting));
    let interim = 0;
    outgoing.on('information', () => {
      interim += 1;
      if (interim > MAX_INTERIM) fail('too many interim responses');
    });
    outgoing.on('upgrade', () => fail('HTTP 101: the protocol was switched'));
    outgoing.on('response', (incoming) => read(incoming, settle));
    // It stays for errors that come after the end: an error that nobody hears ends the process.
    outgoing.on('error', (error) => fail(wordsFor(error)));
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
  // A certificate for an address is checked against the address; it may not be asked for by SNI.
  const servername = isIP(url.hostname.replace(/^\[(.*)\]$/, '$1')) === 0 ? url.hostname : '';
  return httpsRequest({ ...options, servername, ...(ca === undefined ? {} : { ca }) });
}

function read(incoming: IncomingMessage, settle: (result: PinnedResult) => void): void {
  const body = new ByteBuffer();
  incoming.on('data', (part: Buffer) => {
    body.add(part);
    if (body.length > MAX_BODY_BYTES) {
      settle({ kind: 'failed', error: `the answer is over ${MAX_BODY_BYTES / 1024} KiB` });
    }
  });
  incoming.on('end', () => {
    const { statusCode: status = 0, headers } = incoming;
    settle({ kind: 'response', status, headers, body: body.take() });
  });
  incoming.on('error', () => settle({ kind: 'failed', error: 'the answer was cut off' }));
}

const seconds = (ms: number) => `${ms / 1000} s`;

/** What the system's and OpenSSL's codes mean to people. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was closed',
  EPIPE: 'the connection was closed',
  EHOSTUNREACH: 'no route to the machine',
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

function wordsFor(error: Error): string {
  const code = codeOf(error);
  if (code.startsWith('HPE_')) return WORDS[code] ?? 'the answer is not HTTP';
  if (code.startsWith('ERR_SSL_')) return 'the TLS handshake failed';
  return WORDS[code] ?? `the request failed (${code === '' ? error.name : code})`;
}
