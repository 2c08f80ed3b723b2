import type { ResponseHeaders } from '../../platform/http/types.ts';
import type { UpstreamError } from '../protocols/upstream-error.ts';

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
  body: Buffer | null,
): string {
  if (said === '' || body === null || body.length > MAX_SEARCHED_BYTES) return detail;
  const text = shownWords(said, MAX_SHOWN_LENGTH);
  return repeats(text, body) ? `${detail}: (repeats the request, not shown)` : `${detail}: ${text}`;
}

export function shownWords(said: string, maxLength = MAX_WORDS_LENGTH): string {
  return plain(said, maxLength).replaceAll(KEY_LIKE, '$1$2[secret]');
}

const plain = (said: string, length: number): string =>
  said
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, length);

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

/** Shorter texts are no keys, and replacing them would garble what an error says. */
const MIN_LENGTH = 6;

/** Every credential that is sent to an upstream, in each spelling; errors must not repeat them. */
export type OwnSecrets = readonly string[];

export function ownSecrets(
  { basicAuth, query }: { readonly basicAuth: string | null; readonly query: string },
  values: readonly (string | null)[],
): OwnSecrets {
  const all = [
    ...values.flatMap((value) => (value === null ? [] : [value, ...value.split(' ')])),
    ...(query === '' ? [] : new URLSearchParams(query).values()),
    ...(basicAuth === null ? [] : basicParts(basicAuth.slice('Basic '.length))),
  ];
  const spelled = all
    .filter(({ length }) => length >= MIN_LENGTH)
    .flatMap((text) => [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)]);
  // A longer one may hold a shorter one.
  return [...new Set(spelled)].toSorted((a, b) => b.length - a.length);
}

function basicParts(encoded: string): readonly string[] {
  const userinfo = Buffer.from(encoded, 'base64').toString();
  return [encoded, userinfo, userinfo.slice(userinfo.indexOf(':') + 1)];
}

/** Drops headers whose value holds one of the secrets. */
export function headersWithout(secrets: OwnSecrets, headers: ResponseHeaders): ResponseHeaders {
  const isClean = (value: unknown) => !secrets.some((secret) => String(value).includes(secret));
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => isClean(value)));
}

export function errorWithout(secrets: OwnSecrets, error: UpstreamError): UpstreamError {
  return { ...error, message: masked(error.message, secrets) };
}

/** The same bytes if they hold none of the secrets. */
export function bodyWithout(secrets: OwnSecrets, body: Buffer): Buffer {
  const text = plainlySpelled(body.toString());
  const isClean = !secrets.some((secret) => text.includes(secret));
  return isClean ? body : Buffer.from(masked(text, secrets));
}

/** JSON without the escapes that it needs nowhere: PHP writes `\/` for a slash, Go and .NET `\u002b` for a plus. */
function plainlySpelled(json: string): string {
  return json.replace(/\\(?:\\|\/|u00([2-7][0-9a-f]))/gi, (escape, code: string | undefined) => {
    if (escape === '\\/') return '/';
    const letter = code === undefined ? escape : String.fromCharCode(Number.parseInt(code, 16));
    return letter === '"' || letter === '\\' ? escape : letter;
  });
}

function masked(text: string, secrets: OwnSecrets): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text);
}
