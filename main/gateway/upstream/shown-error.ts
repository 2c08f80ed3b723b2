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

/** Whether a run of the text, whose blanks are single, stands in what the request says. */
function repeats(text: string, body: Buffer): boolean {
  const { model, texts } = wordsIn(body);
  // Model names are in most messages and in every request, and reveal nothing.
  const rest = model === '' ? text : text.replaceAll(model, ' ');
  for (let at = 0; at + ECHO_LENGTH <= rest.length; at += ECHO_STEP) {
    if (texts.includes(rest.slice(at, at + ECHO_LENGTH))) return true;
  }
  return false;
}

/** The texts of a request as its reader sees them: engines write the same text with other escapes and other blanks. */
function wordsIn(body: Buffer): { readonly model: string; readonly texts: string } {
  const texts: string[] = [];
  let model = '';
  const gather = (name: string, value: unknown): unknown => {
    if (name === 'model' && typeof value === 'string') model = value;
    else if (typeof value === 'string') texts.push(value);
    return value;
  };
  try {
    JSON.parse(body.toString(), gather);
  } catch {
    texts.push(body.toString());
  }
  return { model, texts: plain(texts.join(' '), Infinity) };
}
