import { anthropicErrorStatus } from '#shared/errors.ts';
import { isObject, isTooDeep, listOf, memberOf, numberOf, parseJson } from '../../platform/json.ts';
import type { ResponseHeaders } from '../../platform/http/types.ts';

/**
 * What an upstream says went wrong. Engines and hosts use at least nine shapes: OpenAI's and Anthropic's `error` object,
 * Ollama's `error` text, `message` at the top (Mistral, Cohere), `detail` as text, list or object (FastAPI hosts),
 * a list of `errors` (Cloudflare), an array (Google), MiniMax's `base_resp`, problem details (RFC 7807) and plain text.
 */
export interface UpstreamError {
  /** Codes, types, statuses and reasons as they came; numbers as text, those of MiniMax behind `base_resp:`. */
  readonly codes: readonly string[];
  /** Empty if there are no words. */
  readonly message: string;
  readonly code: string | null;
  readonly type: string | null;
  /** The HTTP status that it names; null if it names none. An error behind a 200 has no other. */
  readonly status: number | null;
  /** The field that it is about; null if it names none. */
  readonly param: string | null;
  /** The wait that it asks for in its body, in milliseconds (Google's `RetryInfo`); null if it names none. */
  readonly retryAfterMs: number | null;
  /** Header values that OpenRouter repeats in the body. */
  readonly headers: Json;
}

type Json = Readonly<Record<string, unknown>>;

/** Some engines append the whole prompt; what went wrong stands in front of it. */
const MAX_PARSED_BYTES = 64 * 1024;
const MAX_TEXT_BYTES = 8192;

const NOTHING_SAID: UpstreamError = {
  codes: [],
  message: '',
  code: null,
  type: null,
  status: null,
  param: null,
  retryAfterMs: null,
  headers: {},
};

/**
 * The error in a parsed answer or event; null if it is none. OpenRouter tells what became of one choice in it
 * (openrouter.ai/docs, Errors).
 */
export function errorIn(value: unknown): UpstreamError | null {
  const holder = holderIn(value);
  if (isError(holder)) return described(holder);
  const failed = listOf(memberOf(holder, 'choices')).find(isError);
  return failed === undefined ? null : described(failed);
}

function isError(value: unknown): value is Json {
  if (!isObject(value)) return false;
  const { error, base_resp: base } = value;
  if (error !== undefined && error !== null && error !== false) return true;
  // vLLM up to 0.9, and Mistral; a host behind Hermes (NousResearch/hermes-agent#65643).
  if (value['object'] === 'error' || typeof value['error_message'] === 'string') return true;
  if (base !== undefined && (numberOf(memberOf(base, 'status_code')) ?? 0) !== 0) return true;
  return value['success'] === false && listOf(value['errors']).length > 0;
}

/** What a parsed error says, in whichever shape; for one that is known to be an error. */
export function describedError(value: unknown): UpstreamError {
  const holder = holderIn(value);
  return isObject(holder) ? described(holder) : NOTHING_SAID;
}

export function readErrorBody(body: Buffer): UpstreamError {
  // NVIDIA NIM begins a body that is no stream with it (BerriAI/litellm#4558).
  const text = body.toString('utf8', 0, MAX_PARSED_BYTES).replace(/^\s*data:\s*/, '');
  const parsed = body.length <= MAX_PARSED_BYTES ? parseJson(text) : undefined;
  const holder = holderIn(parsed);
  return isObject(holder)
    ? described(holder)
    : wordsOnly(withoutMarkup(text.slice(0, MAX_TEXT_BYTES)));
}

/** A proxy's error page may mention a model or a queue in its boilerplate, so its text is ignored. */
function withoutMarkup(text: string): string {
  return /<html|<!doctype/i.test(text) ? '' : text.trim();
}

/** Deeper ones are nobody's, and describing them would overflow the stack. */
const MAX_LEVELS = 32;

function described(outer: Json): UpstreamError {
  if (isTooDeep(outer, MAX_LEVELS)) return wordsOnly('an error nested too deep');
  const { error, errors, base_resp: base, detail } = outer;
  const inner = [error, listOf(errors)[0], base, detail].find(isObject) ?? outer;
  const metadata = objectOf(inner['metadata']);
  // Google's, and FastAPI's as a list.
  const details = [...listOf(inner['details']), ...listOf(inner['detail'])];
  const words = wordsOf(inner, outer, metadata);
  const holders = [inner, outer, metadata, inner['innererror'], ...details].filter(isObject);
  return {
    codes: [...holders.flatMap(codesIn), ...words.flatMap(({ codes }) => codes)],
    message: [...new Set(words.map(({ message }) => message))].join(': '),
    code: codeIn(inner['code']) ?? codeIn(outer['code']),
    type: codeIn(inner['type']),
    status: statusOf(inner) ?? statusOf(outer) ?? firstOf(words, 'status'),
    param: typeof inner['param'] === 'string' ? inner['param'] : firstOf(words, 'param'),
    retryAfterMs: retryInfoIn(details) ?? firstOf(words, 'retryAfterMs'),
    headers: objectOf(metadata['headers']),
  };
}

/** An error of which nothing but these words is known. */
export const wordsOnly = (message: string): UpstreamError => ({ ...NOTHING_SAID, message });

const objectOf = (value: unknown): Json => (isObject(value) ? value : {});

function firstOf<K extends keyof UpstreamError>(words: readonly UpstreamError[], key: K) {
  return words.map((each) => each[key]).find((value) => value !== null) ?? null;
}

/** What it says, and for OpenRouter what the host behind it said or why it refused. */
function wordsOf(inner: Json, outer: Json, metadata: Json): readonly UpstreamError[] {
  const own = [inner['message'], inner['msg'], inner['status_msg'], inner['detail']];
  const others = [
    outer['error'],
    outer['message'],
    outer['detail'],
    inner['title'],
    outer['error_message'],
  ];
  const said = [...own, ...others].filter((value) => value !== inner).map(saying);
  const { raw, reasons } = metadata;
  return [
    said.find(hasWords) ?? NOTHING_SAID,
    ...[raw, ...listOf(reasons)].map(saying).filter(hasWords),
  ];
}

const hasWords = ({ message }: UpstreamError): boolean => message !== '';

/** A text, which may be JSON (Mistral's 422, OpenRouter's `raw`), an object, or a list of fields with their faults (pydantic's). */
function saying(value: unknown): UpstreamError {
  if (typeof value === 'string') return nestedIn(value) ?? wordsOnly(value.trim());
  if (Array.isArray(value)) return wordsOnly(value.map(fieldFault).join('; '));
  return isObject(value) ? described(value) : NOTHING_SAID;
}

function fieldFault(entry: unknown): string {
  const path = listOf(memberOf(entry, 'loc')).join('.');
  const { message } = saying(memberOf(entry, 'msg') ?? memberOf(entry, 'type') ?? entry);
  return path === '' ? message : `${path}: ${message}`;
}

function nestedIn(text: string): UpstreamError | null {
  if (!/^\s*[{[]/.test(text)) return null;
  const holder = holderIn(parseJson(text));
  return isObject(holder) ? described(holder) : null;
}

/** Google's errors come in an array. */
const holderIn = (value: unknown): unknown => (Array.isArray(value) ? listOf(value)[0] : value);

const CODE_FIELDS = ['code', 'type', 'status', 'error_type', 'reason'];

function codesIn(holder: Json): readonly string[] {
  const codes = CODE_FIELDS.map((field) => holder[field])
    .filter(isCode)
    .map(String);
  if (typeof holder['signin_url'] === 'string') codes.push('signin_url');
  const minimax = holder['status_code'];
  return isCode(minimax) ? [...codes, `base_resp:${minimax}`] : codes;
}

const codeIn = (value: unknown): string | null => (isCode(value) ? String(value) : null);

const isCode = (value: unknown): value is string | number =>
  typeof value === 'string' || typeof value === 'number';

/** TGI's `http_status_code` is left out: behind a 200 it is 422, whatever the fault was. */
function statusOf(holder: Json): number | null {
  // `status_code`: Lemonade (streaming_proxy.cpp) and Cerebras.
  const fields = [holder['code'], holder['status'], holder['status_code']];
  const named = fields.map(numberOf).find(isErrorStatus);
  // Anthropic names no status behind a 200, but each of its types belongs to one.
  return named ?? anthropicErrorStatus(holder['type']);
}

const isErrorStatus = (status: number | null): status is number =>
  status !== null && Number.isInteger(status) && status >= 400 && status < 600;

/** As `34.074824224s` (googleapis/python-genai#2114). */
function retryInfoIn(details: readonly unknown[]): number | null {
  const delays = details.map((each) => durationMs(memberOf(each, 'retryDelay')));
  return delays.find((ms) => ms !== null) ?? null;
}

const UNITS = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;

/** Milliseconds of a duration such as `6m0s`, `1.57s` or `120ms`; null for anything else. */
export function durationMs(value: unknown): number | null {
  if (typeof value !== 'string' || !/^(\d{1,9}(\.\d{1,12})?(h|ms|m|s))+$/.test(value)) return null;
  let ms = 0;
  for (const [, number, unit] of value.matchAll(/(\d{1,9}(?:\.\d{1,12})?)(h|ms|m|s)/g))
    ms += Number(number) * UNITS[unit as keyof typeof UNITS];
  return ms;
}

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
