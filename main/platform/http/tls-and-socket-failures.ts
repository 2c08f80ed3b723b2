import { codeOf, isExhausted, localNetworkHint } from '../errors.ts';
import type { TransportFailure } from './types.ts';

/*
 * What errors of a connection, of its TLS and of what comes over it mean, and how they are told. One that is not named here is
 * told by Node's own code.
 */

/** A connection that was made and then lost. */
const BROKEN = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** The messages of undici for a response that comes unasked, and for one that changes the protocol unasked. */
const BAD_ANSWERS = new Set(['bad response', 'bad upgrade']);

/** Whether undici refused bytes of a response. On a connection that nobody has asked anything they came unasked. */
export function isUnaskedAnswer(error: Error): boolean {
  return BAD_ANSWERS.has(error.message) || error.name === 'HTTPParserError';
}

export const isBroken = (error: Error): boolean =>
  BROKEN.has(codeOf(error) ?? '') && !isUnaskedAnswer(error);

/** Classifies an error of a client or of its socket by its code. */
export function transportFailure(error: Error, isHeadSeen: boolean): TransportFailure {
  const code = codeOf(error) ?? error.name;
  const detail = describe(error, code);
  if (isHeadSeen) return { kind: 'cut', detail };
  if (isExhausted(error)) return { kind: 'exhausted', detail: code };
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return { kind: 'malformed', detail };
  if (isUnaskedAnswer(error)) return { kind: 'malformed', detail: 'the response is not HTTP' };
  return { kind: 'unreachable', detail };
}

const UNTRUSTED =
  'this machine does not trust its certificate; add its authority to those of the system, or name its file in NODE_EXTRA_CA_CERTS';
const OUTDATED = 'its certificate has expired, or the clock of this machine is wrong';

/** For codes that users cannot be expected to know. */
const TEXTS: Readonly<Record<string, string>> = {
  UND_ERR_SOCKET: 'the connection was closed',
  UND_ERR_DESTROYED: 'the connection was closed',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_HEADERS_OVERFLOW: 'the response head is too large',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS; its address may have to begin with http://',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  CERT_HAS_EXPIRED: OUTDATED,
  CERT_NOT_YET_VALID: OUTDATED,
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};

/** For codes of a place, which follows. */
const PLACED_TEXTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at',
  ENOTFOUND: 'no machine is known as',
  EHOSTUNREACH: 'there is no route to',
  ENETUNREACH: 'there is no route to',
};

function describe(error: Error, code: string): string {
  const text = TEXTS[code];
  if (text !== undefined) return text;
  // Such as what a proxy answered.
  if (code.startsWith('UND_ERR_')) return error.message;
  // For a name with several addresses Node reports one error that holds an error per address.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const cause = first instanceof Error ? first : error;
  const address =
    'address' in cause && typeof cause.address === 'string' ? ` ${cause.address}` : '';
  const port = 'port' in cause && typeof cause.port === 'number' ? `:${cause.port}` : '';
  const host =
    'hostname' in cause && typeof cause.hostname === 'string' ? ` ${cause.hostname}` : '';
  const name = code === 'Error' ? (codeOf(cause) ?? cause.name) : code;
  const hint = name === 'EHOSTUNREACH' ? localNetworkHint() : '';
  const place = host + address + port;
  return `${place === '' ? name : (PLACED_TEXTS[name] ?? name)}${place}${hint}`;
}
