import type { HttpRequest } from '../../platform/http/types.ts';
import { errorText } from './error-words.ts';
import type { Failure } from './failure.ts';

/** Of a message. */
const MAX_LENGTH = 300;
/** Longer bodies are not searched, as that takes milliseconds; of their errors only the status is shown. */
const MAX_SEARCHED_BYTES = 32 * 1024;
/** Shared runs of characters that are no coincidence; of 15 or more none is missed. */
const ECHO_LENGTH = 12;
const ECHO_STEP = 4;
const KEY_LIKE = /\b(sk|pk|key|token|bearer)([-_: ]+)[\w./+=-]{6,}/gi;

/**
 * What the window may show of a failure: the upstream's own words, unless they repeat the request, as some
 * engines append the whole prompt.
 */
export function shownError(
  { response, detail }: Failure,
  { body, headers }: Pick<HttpRequest, 'body' | 'headers'>,
): string {
  const said = response === null ? '' : errorText(response.body);
  if (said === '' || body === null || body.length > MAX_SEARCHED_BYTES) return detail;
  const plain = said.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_LENGTH);
  const text = withoutAuthorization(plain, authorizationIn(headers));
  return repeats(text, body) ? `${detail}: (repeats the request, not shown)` : `${detail}: ${text}`;
}

function authorizationIn(headers: readonly string[]): string {
  const at = headers.findIndex((name) => name.toLowerCase() === 'authorization');
  return at === -1 ? '' : (headers[at + 1] ?? '');
}

function withoutAuthorization(text: string, authorization: string): string {
  const secret = authorization.split(' ').at(-1) ?? '';
  const rest = secret.length < 6 ? text : text.replaceAll(secret, '[secret]');
  return rest.replaceAll(KEY_LIKE, '$1$2[secret]');
}

/** Model names are in most messages and in every request, and reveal nothing. */
function repeats(text: string, body: Buffer): boolean {
  const sent = body.toString('utf8');
  const model = /"model"\s*:\s*"([^"]*)"/.exec(sent)?.[1] ?? '';
  const rest = model === '' ? text : text.replaceAll(model, ' ');
  const prompt = model === '' ? sent : sent.replaceAll(model, '');
  for (let at = 0; at + ECHO_LENGTH <= rest.length; at += ECHO_STEP) {
    const run = rest.slice(at, at + ECHO_LENGTH);
    if (prompt.includes(run) || prompt.includes(JSON.stringify(run).slice(1, -1))) return true;
  }
  return false;
}
