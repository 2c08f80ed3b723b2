import { isObject } from '#shared/objects.ts';
import { parseJson } from '../../platform/json.ts';
import { errorMessage } from './completion.ts';
import type { HttpRequest } from '../../platform/http/types.ts';

/** What routing needs to know of an upstream's error body. */
export interface ErrorWords {
  readonly saysQuota: boolean;
  readonly saysBusy: boolean;
  /** Busy because it is starting up. */
  readonly saysLoading: boolean;
  readonly saysModel: boolean;
  readonly saysModelNotFound: boolean;
  /** Something that a request refers to by its id is missing. */
  readonly saysObject: boolean;
  readonly saysContextLength: boolean;
  readonly saysUnsupportedInput: boolean;
  /** An agent could not reach its engine. */
  readonly saysEngineGone: boolean;
  /** From the part that is read. */
  readonly message: string;
}

/** Ollama's "server busy", llama-server's "Loading model", an agent's "paused", full queues. */
const BUSY =
  /busy|queue|overload|paused|draining|loading|capacity|no slot|too many (concurrent )?requests/i;
/** llama-server's "Loading model" and a host's "warming up". */
const LOADING = /\b(loading|starting|warming)\b/i;
const CONTEXT_LENGTH =
  /context[ _-]?(length|window|size)|maximum context|prompt is too long|too many tokens|exceeds? the (available |maximum )?context/i;
const MODEL = /\bmodel\b/i;
/** llama.cpp's router, with a 400 (seen from 0.7.0, build 11669). */
const MODEL_NOT_FOUND = /^model '.*' not found$/;
const OBJECT = /\b(response|conversation|item|file|vector store)s? with id\b/i;
/** Errors for images, audio or video at a model that only reads text. */
const UNSUPPORTED_INPUT: readonly RegExp[] = [
  // llama.cpp, 500 (seen from 0.7.0, build 11669).
  /\b(image|audio|video) input is not supported/i,
  // llama.cpp: 400 for an unknown part; 500 in versions that read text only (ggml-org/llama.cpp#12947).
  /unsupported content(\[\]\.| part )type/i,
  // vLLM, 400 (vllm-project/vllm#19144), and if `--limit-mm-per-prompt` switches a kind off.
  /is not a multimodal model/i,
  /at most 0 (image|audio|video)\(s\)/i,
  // SGLang with `--language-model-only`, 400 (srt/managers/tokenizer_manager.py); without it, the image is dropped.
  /multimodal inputs? (\(\w+\) )?(is|are) not supported/i,
  // Ollama: 500 or 400 by version (`ErrNoVisionModel` in model/model.go), and its cloud, 400 (ollama/ollama#17301).
  /missing data required for image input/i,
  // The same, and LM Studio: "Model does not support images. Please use a model that does." (lmstudio-bug-tracker#908).
  /model does not support (image|audio|video)/i,
  // OpenRouter, 404 (openclaw/openclaw#99079).
  /no endpoints found that support (image|audio|video|file) input/i,
];
/** Error messages stand at the start of the body. */
const MAX_READ_BYTES = 8192;

export function errorWords(body: Buffer): ErrorWords {
  const { codes, message } = readError(body);
  return {
    saysQuota: codes.includes('insufficient_quota'),
    saysBusy: BUSY.test(message) || codes.some((code) => BUSY.test(code)),
    saysLoading: LOADING.test(message),
    saysModel: codes.includes('model_not_found') || MODEL.test(message),
    saysModelNotFound: MODEL_NOT_FOUND.test(message),
    saysObject: codes.includes('previous_response_not_found') || OBJECT.test(message),
    saysContextLength: codes.includes('context_length_exceeded') || CONTEXT_LENGTH.test(message),
    saysUnsupportedInput: UNSUPPORTED_INPUT.some((words) => words.test(message)),
    saysEngineGone: codes.includes('engine_unreachable'),
    message,
  };
}

/** The message of an error body, from the part that is read. */
export function errorText(body: Buffer): string {
  return readError(body).message;
}

/** The body may be JSON of OpenAI's or of an engine's own shape, or plain text. */
function readError(body: Buffer): { readonly codes: readonly string[]; readonly message: string } {
  const text = body.toString('utf8', 0, MAX_READ_BYTES);
  const parsed = body.length <= MAX_READ_BYTES ? parseJson(text) : undefined;
  return isObject(parsed)
    ? { codes: codesOf(parsed), message: messageIn(parsed) }
    : { codes: [], message: withoutMarkup(text) };
}

function codesOf(parsed: Readonly<Record<string, unknown>>): string[] {
  const error = isObject(parsed['error']) ? parsed['error'] : parsed;
  return [error['code'], error['type']].filter((code) => typeof code === 'string');
}

export function messageIn(parsed: Readonly<Record<string, unknown>>): string {
  const direct = [parsed['message'], parsed['detail']].find((value) => typeof value === 'string');
  return errorMessage(parsed) ?? direct ?? '';
}

/** A proxy's error page may mention a model or a queue in its boilerplate, so its text is ignored. */
function withoutMarkup(text: string): string {
  return /<html|<!doctype/i.test(text) ? '' : text;
}

/** Of a message that is shown. */
const MAX_SHOWN_LENGTH = 300;
/** Longer bodies are not searched, as that takes milliseconds; of their errors only the status is shown. */
const MAX_SEARCHED_BYTES = 32 * 1024;
/** Runs of this many shared characters are no coincidence; runs of 15 or more are always found. */
const ECHO_LENGTH = 12;
const ECHO_STEP = 4;
const KEY_LIKE = /\b(sk|pk|key|token|bearer)([-_: ]+)[\w./+=-]{6,}/gi;

/**
 * What the window may show of a failure: the upstream's own words, unless they repeat the request, as some
 * engines append the whole prompt.
 */
export function shownError(
  { said, detail }: { readonly said: string; readonly detail: string },
  { body, headers }: Pick<HttpRequest, 'body' | 'headers'>,
): string {
  if (said === '' || body === null || body.length > MAX_SEARCHED_BYTES) return detail;
  const plain = said.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_SHOWN_LENGTH);
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
