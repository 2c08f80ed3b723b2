import { codeOf, isExhausted } from '../errors.ts';
import type { TransportFailure } from './types.ts';

/*
 * What errors of a connection, of its TLS and of what comes over it mean, and how they are told. One that is not named here,
 * such as a certificate that is not trusted, is told by Node's own code.
 */

/** Codes for a response that is not HTTP; undici's parser error has a name, but no code. */
const MALFORMED = new Set([
  'MALFORMED',
  'HEAD_TOO_LARGE',
  'HTTPParserError',
  'UND_ERR_HEADERS_OVERFLOW',
]);
/** Codes for a connection that was made and then lost. */
const BROKEN = new Set(['CLOSED', 'UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** Classifies an error of a client or of its socket by its code. */
export function transportFailure(
  error: Error,
  seen: { readonly headSeen: boolean; readonly reused: boolean },
): TransportFailure {
  const code = codeOf(error) ?? error.name;
  const detail = describe(error, code);
  if (seen.headSeen) return { kind: 'cut', stale: false, detail };
  if (isExhausted(error)) return { kind: 'exhausted', stale: false, detail: code };
  if (MALFORMED.has(code)) return { kind: 'malformed', stale: false, detail };
  return { kind: 'unreachable', stale: BROKEN.has(code) && seen.reused, detail };
}

/** An error of our own, with a code of those above. */
export function errorOf(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** For codes that users cannot be expected to know. */
const TEXTS: Readonly<Record<string, string>> = {
  CLOSED: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  HEAD_TOO_LARGE: 'the response head is too large',
  UND_ERR_HEADERS_OVERFLOW: 'the response head is too large',
  MALFORMED: 'the response is not HTTP',
  HTTPParserError: 'the response is not HTTP',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the body does not have the length that was announced',
};

function describe(error: Error, code: string): string {
  const text = TEXTS[code];
  if (text !== undefined) return text;
  // For a name with several addresses Node reports one error that holds an error per address.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const cause = first instanceof Error ? first : error;
  const address =
    'address' in cause && typeof cause.address === 'string' ? ` ${cause.address}` : '';
  const port = 'port' in cause && typeof cause.port === 'number' ? `:${cause.port}` : '';
  const host =
    'hostname' in cause && typeof cause.hostname === 'string' ? ` ${cause.hostname}` : '';
  return `${code === 'Error' ? (codeOf(cause) ?? cause.name) : code}${host}${address}${port}`;
}
