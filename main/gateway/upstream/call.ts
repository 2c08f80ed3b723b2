import type { IncomingHttpHeaders } from 'node:http';
import type { UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import { fromCaller } from '../../platform/http/passed-headers.ts';
import type { HttpRequest } from '../../platform/http/types.ts';
import { isObject } from '../../platform/json.ts';
import { adjustedBody, adjustedHeaders, type Adjustment } from './adjustments.ts';
import type { AnswerTranslator } from '../protocols/translation/answer-translator.ts';
import type { AnswerMode } from './body-readers.ts';
import type { ChatRequest, RequestForms } from '../protocols/chat-request.ts';
import type { ApiEndpoint } from '../protocols/endpoint.ts';
import { type JsonBody, memberAt, smallValueOf, withMembers } from '../protocols/json-edit.ts';
import { rescueFor } from '../protocols/rescue/rescue.ts';
import type { CachedPrefix } from '../protocols/prompt-chain.ts';
import { type OwnSecrets, ownSecrets } from '../protocols/upstream-error.ts';
import { NOTHING_SPENT, tokensOf } from '../protocols/tokens.ts';
import {
  type BaseAddress,
  type LocalModel,
  type LocalTarget,
  type PrefillFacts,
  remoteModel,
  type RemoteUpstream,
} from './upstreams.ts';

export interface ChatCall extends RequestForms {
  readonly request: ChatRequest;
  /** The same as its caller sent it, should `request` be its chat form. */
  readonly asked: ChatRequest;
  readonly headers: IncomingHttpHeaders;
  /** The caller's `Authorization` for `local`; null if it sent none, or a key of the gateway. */
  readonly authorization: string | null;
  /** Whether only `local` may be called, by the setting or this request's header (docs/guides/budgets.md#spend-nothing). */
  readonly zeroSpend: boolean;
}

/**
 * By the setting or `X-Gateway-Force-Zero`. A value that is not known must not spend money. Node joins a header that was
 * sent twice, so one such value in it is enough.
 */
export function isZeroSpend({ routing }: Config, header: unknown): boolean {
  if (typeof header !== 'string') return routing.forceZero;
  return routing.forceZero || header.split(',').some((each) => !OFF.has(each.trim().toLowerCase()));
}

const OFF: ReadonlySet<string> = new Set(['', '0', 'false']);

/** The same call as a chat completion; null if it cannot be one. */
export function inChat(call: ChatCall): ChatCall | null {
  const request = call.chatForm?.() ?? null;
  if (request === null || 'kind' in request) return null;
  return { ...call, request, native: () => request, chatForm: null };
}

export interface UpstreamCall {
  readonly request: ChatRequest;
  /** Null if the answer is in the caller's protocol already. */
  readonly translator: AnswerTranslator | null;
  /** The same as a chat completion, should the upstream lack the endpoint; null if it cannot be one. */
  readonly inChat: () => UpstreamCall | null;
  /** Sent at once if it refuses to continue a partial answer: it asks for all of it again, which is compared. */
  readonly repeated?: UpstreamCall | null;
  readonly upstream: UpstreamId;
  /** Whether it carries the caller's own `Authorization`. */
  readonly hasCallersKey: boolean;
  readonly provider: string | null;
  /** Empty if the caller leaves the model to the upstream. */
  readonly model: string;
  /** The context window of that model in tokens, as its engine says; null while unknown, and of hosted upstreams. */
  readonly window: number | null;
  /** The model is computed by a service, not on the owner's machines. */
  readonly isElsewhere: boolean;
  readonly prefix: CachedPrefix | null;
  /** The hash in its prompt is sent to this upstream as a constant. */
  readonly isHashFixed: boolean;
  /**
   * Creates the request, with these changes, or with another body in place of its own. Call it only once the request is
   * certain to be sent.
   */
  readonly write: (made: ReadonlySet<Adjustment>, body?: JsonBody) => HttpRequest;
  /** Whether the upstream is to be asked for the usage of its stream, as the caller did not. */
  readonly asksForUsage: boolean;
  /** How tool calls that the answer has as text are rescued; null if they are not. */
  readonly rescue: ReturnType<typeof rescueFor> | null;
  /** Credentials that the request carries: what is said of its failure must not repeat them. */
  readonly secrets: OwnSecrets;
  readonly mode: AnswerMode;
  readonly prefill: PrefillFacts;
  /** The longest time to the first content. */
  readonly timeoutMs: number;
  /** The longest time without a sign that it is reading. */
  readonly silenceMs: number;
  /** The part of the time to first content that reading the prompt and loading the model explain. */
  readonly explainedMs: number;
  /** The engine has to load the model first, as far as it says. */
  readonly isLoading: boolean;
  /** Whether a short-lived failure is retried here; in a pool the next machine is tried instead. */
  readonly isAlone: boolean;
}

/** What is known of an engine or machine for a prompt. */
export interface PromptReading {
  /** How much of it is cached; null if that was not looked up. */
  readonly prefix: CachedPrefix | null;
  /** How fast it reads; null before its first long prompt. */
  readonly tokensPerSecond: number | null;
}

/** A request as an engine or machine takes it. */
export interface LocalForm extends LocalModel {
  readonly target: LocalTarget;
  readonly form: ChatCall;
}

/**
 * A call to `local`, with the caller's own `Authorization` and a model that the engine has. Its timeout is for silence:
 * reading the prompt comes on top of it. `isAlone`: no other machine will be called.
 */
export function localCall(
  local: LocalForm,
  config: Config,
  reading: PromptReading,
  isAlone = true,
): UpstreamCall {
  const { target, form: call, model, facts, isElsewhere } = local;
  const { prefix, tokensPerSecond } = reading;
  const { baseAddress } = target;
  const request = call.native('local');
  const mode = modeOf(request, true);
  const extra = target.gatewayToken === null ? {} : { 'x-gateway-token': target.gatewayToken };
  const authorization = call.authorization ?? baseAddress.basicAuth;
  const own = { contentType: request.contentType, authorization, extra };
  const more = target.ownedBy === 'llamacpp' ? moreFromLlama(request, mode) : {};
  const window = facts?.context_length ?? null;
  const ofPrompt = readingMs(request, window, tokensPerSecond);
  const timeoutMs = config.local.timeoutMs + ofPrompt;
  const isLoading = facts?.loaded === false;
  return {
    request,
    translator: request.translator?.(model ?? '') ?? null,
    inChat: () => {
      const other = config.local.protocols === 'auto' ? inChat(call) : null;
      return other === null ? null : localCall({ ...local, form: other }, config, reading, isAlone);
    },
    upstream: 'local',
    hasCallersKey: call.authorization !== null,
    provider: target.provider,
    model: model ?? '',
    window,
    isElsewhere,
    prefix,
    isHashFixed: call.isHashFixed,
    secrets: ownSecrets(baseAddress, [target.gatewayToken, keyIn(call.authorization)]),
    mode,
    prefill: { setting: config.local.prefill, address: '', ownedBy: target.ownedBy },
    timeoutMs,
    silenceMs: config.local.timeoutMs,
    explainedMs: isLoading ? timeoutMs : ofPrompt,
    isLoading,
    isAlone,
    asksForUsage: asksForUsage(request, mode),
    rescue:
      config.local.rescueToolCalls === 'on' && request.mayLeakCalls() ? rescueFor(request) : null,
    write: (made, body = request) =>
      requestTo('local', baseAddress, model, { call, request, body, mode, own, made, more }),
  };
}

/** A large model on a processor: assumed of an engine until it has read a long prompt. */
const UNKNOWN_TOKENS_PER_SECOND = 100;
/** The length is estimated, and an engine that reads two prompts at once takes twice as long for each. */
const MARGIN = 2;
/** What the configured limits allow for anyway. */
const SHORT_TOKENS = 200;
/** No window of a local model is larger, whatever a body has that is no prompt. */
const MAX_TOKENS = 262_144;

/**
 * How long an engine may take to read a prompt, in milliseconds. All of it, as its cache may be gone: engines unload a
 * model that rests, and do not say so.
 */
function readingMs(request: ChatRequest, window: number | null, rate: number | null): number {
  const tokens = Math.min(tokensOf(NOTHING_SPENT, request)?.input ?? 0, window ?? MAX_TOKENS);
  const long = Math.max(0, tokens - SHORT_TOKENS);
  return (MARGIN * 1000 * long) / (rate ?? UNKNOWN_TOKENS_PER_SECOND);
}

/**
 * A call to a hosted upstream or `ondemand`, with the configured key and never the caller's. `picked`: the model that the
 * requested name chose, with this upstream; null if it chose none.
 */
export function remoteCall(
  call: ChatCall,
  upstream: RemoteUpstream,
  picked: string | null,
): UpstreamCall {
  const { id, baseAddress, timeoutMs } = upstream;
  const request = call.native(isAnthropic(upstream) ? 'anthropic' : 'remote');
  const model = picked ?? remoteModel(upstream, request.model);
  const mode = modeOf(request, upstream.assemble);
  const own = { contentType: request.contentType, ...keyHeaders(request, upstream) };
  return {
    request,
    translator: request.translator?.(model ?? request.model ?? '') ?? null,
    inChat: () => {
      const other = upstream.protocols === 'auto' ? inChat(call) : null;
      return other === null ? null : remoteCall(other, upstream, picked);
    },
    upstream: id,
    hasCallersKey: false,
    provider: null,
    model: model ?? '',
    window: null,
    isElsewhere: true,
    prefix: null,
    isHashFixed: call.isHashFixed && !isAnthropic(upstream),
    secrets: upstream.secrets,
    mode,
    prefill: upstream.prefill,
    timeoutMs,
    silenceMs: timeoutMs,
    explainedMs: 0,
    isLoading: false,
    isAlone: true,
    asksForUsage: asksForUsage(request, mode),
    rescue: null,
    write: (made, body = request) =>
      requestTo(id, baseAddress, model, { call, request, body, mode, own, made, more: {} }),
  };
}

const isAnthropic = ({ prefill }: Pick<RemoteUpstream, 'prefill'>) =>
  prefill.address.startsWith('api.anthropic.com/');

/** Without its scheme. */
const keyIn = (authorization: string | null) => authorization?.split(' ').at(-1) ?? null;

function keyHeaders(
  { endpoint: { vendor } }: ChatRequest,
  { baseAddress, apiKey, headers, prefill }: RemoteUpstream,
): Pick<OwnHeaders, 'authorization' | 'extra'> {
  if (apiKey === null) return { authorization: baseAddress.basicAuth, extra: headers };
  const bearer = `Bearer ${apiKey}`;
  if (vendor === 'openai') return { authorization: bearer, extra: headers };
  // Engines with the Messages API read either header; Anthropic takes a bearer for a login of its own.
  return {
    authorization: isAnthropic({ prefill }) ? null : bearer,
    extra: { 'x-api-key': apiKey, ...headers },
  };
}

function modeOf(request: ChatRequest, assemble: boolean): AnswerMode {
  if (request.stream) return 'relay';
  return assemble && request.isAssemblable() ? 'assemble' : 'whole';
}

function asksForUsage({ endpoint, includeUsage }: ChatRequest, mode: AnswerMode): boolean {
  return mode !== 'whole' && endpoint.answer.stream?.asksForUsage === true && !includeUsage;
}

/** Fields by which llama.cpp (b11669) tells more than its API has; its messages do not know them. */
function moreFromLlama(request: ChatRequest, mode: AnswerMode) {
  const tells = mode !== 'whole' && request.endpoint.translation === undefined;
  // Messages name the stop sequence that ended them, chat completions do not.
  const isStopAsked = request.translator !== null && memberAt(request, 'stop') !== undefined;
  return {
    // Of all that `verbose` adds to an answer, only the sequence.
    ...(isStopAsked && { verbose: 'true', response_fields: '["stopping_word"]' }),
    ...(tells && { return_progress: 'true' }),
  };
}

function requestTo(
  id: UpstreamId,
  { origin, apiPath, query, proxied, signal }: BaseAddress,
  model: string | null,
  {
    call: { headers },
    request,
    body: given,
    mode,
    own,
    made,
    more,
  }: {
    readonly call: ChatCall;
    readonly request: ChatRequest;
    readonly body: JsonBody;
    readonly mode: AnswerMode;
    readonly own: OwnHeaders;
    readonly made: ReadonlySet<Adjustment>;
    readonly more: Readonly<Record<string, string>>;
  },
): HttpRequest {
  const values = {
    ...(model !== null && model !== request.model && { model: JSON.stringify(model) }),
    ...(mode === 'assemble' && { stream: 'true' }),
    ...(asksForUsage(request, mode) && { stream_options: usageOptions(given) }),
    ...more,
  };
  const body = Object.keys(values).length === 0 ? given : withMembers(given, values);
  const sent = upstreamHeaders(id, request.endpoint.vendor, own, headers);
  return {
    method: 'POST',
    origin,
    proxied,
    signal,
    path: apiPath + request.endpoint.upstreamPath + query,
    headers: adjustedHeaders(sent, made),
    body: adjustedBody(body, made).bytes,
  };
}

/** Anthropic and LMDeploy refuse a message without one (InternLM/lmdeploy, serve/anthropic). */
export const ANTHROPIC_VERSION: readonly [name: string, value: string] = [
  'anthropic-version',
  '2023-06-01',
];

interface OwnHeaders {
  readonly contentType: string;
  /** The whole `Authorization` value, or null. */
  readonly authorization: string | null;
  /** The headers in the settings; they replace all others. */
  readonly extra: Readonly<Record<string, string>>;
}

/** Names and values in turn. */
function upstreamHeaders(
  id: UpstreamId,
  vendor: ApiEndpoint['vendor'],
  own: OwnHeaders,
  caller: IncomingHttpHeaders,
): string[] {
  const headers = ['content-type', own.contentType];
  if (own.authorization !== null) headers.push('authorization', own.authorization);
  headers.push(...fromCaller(caller, id === 'local' ? 'own' : 'other'));
  const [version] = ANTHROPIC_VERSION;
  if (vendor === 'anthropic' && caller[version] === undefined) headers.push(...ANTHROPIC_VERSION);
  const extra = Object.entries(own.extra);
  if (extra.length === 0) return headers;
  const replaced = new Set(extra.map(([name]) => name.toLowerCase()));
  const kept = headers.filter((_, at) => !replaced.has(headers[at - (at % 2)] ?? ''));
  return [...kept, ...extra.flat()];
}

/** The caller's options stay. */
function usageOptions(body: JsonBody): string {
  const options = smallValueOf(body, 'stream_options');
  return JSON.stringify({ ...(isObject(options) ? options : {}), include_usage: true });
}
