import type { HttpRequest } from '../../platform/http/types.ts';

/** Of a message that is shown in the window, and of one in the gateway's own error to the caller. */
const MAX_SHOWN_LENGTH = 300;
const MAX_WORDS_LENGTH = 200;
/** Longer bodies are not searched, as that takes milliseconds; of their errors only the status is shown. */
const MAX_SEARCHED_BYTES = 32 * 1024;
/** Runs of this many shared characters are no coincidence; runs of 15 or more are always found. */
const ECHO_LENGTH = 12;
const ECHO_STEP = 4;
const KEY_LIKE = /\b(sk|pk|key|token|bearer)([-_: ]+)(?=[\w./+*=-]*\d)[\w./+*=-]{6,}/gi;

/**
 * What the window may show of a failure: the upstream's own words, unless they repeat the request, as some
 * engines append the whole prompt.
 */
export function shownError(
  { said, detail }: { readonly said: string; readonly detail: string },
  { body, headers }: Pick<HttpRequest, 'body' | 'headers'>,
): string {
  if (said === '' || body === null || body.length > MAX_SEARCHED_BYTES) return detail;
  const text = withoutAuthorization(plain(said, MAX_SHOWN_LENGTH), authorizationIn(headers));
  return repeats(text, body) ? `${detail}: (repeats the request, not shown)` : `${detail}: ${text}`;
}

export function shownWords(said: string): string {
  return plain(said, MAX_WORDS_LENGTH).replaceAll(KEY_LIKE, '$1$2[secret]');
}

const plain = (said: string, length: number): string =>
  said
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, length);

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
