import { HOSTED_IDS, type HostedId, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';

/** Where requests to an upstream go: a base address, split for the wire once. */
export interface Endpoint {
  readonly origin: string;
  /** Path of the base address, without a slash at its end. */
  readonly basePath: string;
  /** Query of the base address with its `?`, or empty. */
  readonly query: string;
  /** `Basic` credentials from the address's userinfo, or null. */
  readonly basicAuth: string | null;
}

/** A hosted upstream or `ondemand`, ready to be called. */
export interface RemoteUpstream {
  readonly id: HostedId | 'ondemand';
  readonly endpoint: Endpoint;
  /** What `model` is set to; null leaves the caller's. */
  readonly model: string | null;
  readonly apiKey: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly assemble: boolean;
  /** What is known beforehand of how it can be asked to go on from a begun answer. */
  readonly prefill: PrefillFacts;
}

/** The engine or provider that serves `local` for one request. */
export interface LocalTarget {
  /** Null for a fixed engine. */
  readonly provider: string | null;
  readonly endpoint: Endpoint;
  /** What it offers, the one in use first; null while unknown. */
  readonly models: readonly string[] | null;
  /** The `owned_by` of its models, by which engines give themselves away; null while unknown. */
  readonly ownedBy: string | null;
  /** What the agent knows the gateway by; null for a fixed engine. */
  readonly gatewayToken: string | null;
}

/** A hosted base address ends with the version of the API; an engine's may or may not. */
const isEngineAddress = (id: UpstreamId) => id === 'local' || id === 'ondemand';

/** What follows `basePath` at an upstream, for a path behind the API version such as `/chat/completions`. */
export function upstreamPath(id: UpstreamId, path: string): string {
  return isEngineAddress(id) ? `/v1${path}` : path;
}

/** Splits a base address. People give an engine's with or without `/v1`; it is dropped, `upstreamPath` adds it. */
export function endpointOf(baseUrl: string, id: UpstreamId): Endpoint {
  const url = new URL(baseUrl);
  const path = url.pathname.replace(/\/+$/, '');
  const userinfo = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    origin: url.origin,
    basePath: isEngineAddress(id) ? path.replace(/\/v1$/, '') : path,
    query: url.search,
    basicAuth: userinfo === ':' ? null : `Basic ${Buffer.from(userinfo).toString('base64')}`,
  };
}

/** The hosted upstreams that are configured, in routing order, then `ondemand`. */
export function remoteUpstreams(config: Config): RemoteUpstream[] {
  return [...HOSTED_IDS, 'ondemand' as const].flatMap((id) => {
    const { baseUrl, apiKey, model, headers, timeoutMs, assemble, prefill } = config[id];
    if (baseUrl === null) return [];
    const endpoint = endpointOf(baseUrl, id);
    const address = `${new URL(baseUrl).hostname}${endpoint.basePath}/`;
    return [
      {
        id,
        endpoint,
        model,
        apiKey,
        headers,
        timeoutMs,
        assemble,
        prefill: { setting: prefill, address, ownedBy: null },
      },
    ];
  });
}

/** The model id for `local`: the caller's if the engine lists it, else the first that it lists. */
export function localModel(target: LocalTarget, asked: string | null): string | null {
  if (target.models === null || target.models.length === 0) return asked;
  if (asked !== null && target.models.includes(asked)) return asked;
  return target.models[0] ?? asked;
}

/** How an upstream is asked to go on from a begun answer. */
export type Prefill =
  /** It cannot, or nobody knows: OpenAI and Claude 4.6 and later begin a new answer or refuse. */
  | 'none'
  /**
   * A last message of the assistant's is continued without a word: llama.cpp (ggml-org/llama.cpp#13174; 400
   * for a thinking model, #20861), Ollama (ollama/ollama#6778), LMDeploy (InternLM/lmdeploy#2798), Groq
   * (console.groq.com/docs/prefilling), OpenRouter where the model can, Anthropic up to Claude 4.5.
   */
  | 'last-message'
  /**
   * `continue_final_message: true`, which excludes `add_generation_prompt`: vLLM (its OpenAI-compatible
   * server's extra parameters), SGLang (sgl-project/sglang#4226), llama.cpp since ggml-org/llama.cpp#23012;
   * an older one does not know the flag and takes the last message all the same.
   */
  | 'continue_final_message'
  /**
   * `prefix: true` on the last message: Mistral, and DeepSeek behind its base address `/beta`
   * (api-docs.deepseek.com, Chat Prefix Completion).
   */
  | 'prefix';

/** Whether a continuation begins with what it was asked to go on from. */
export type Echo =
  /** An engine that is known to say only what is new, so that equal text is text. */
  | 'never'
  /** Nobody knows; it may even begin the answer anew. */
  | 'maybe'
  /** In one piece, first of all: Mistral (vercel/ai#3256). */
  | 'always';

/** How an upstream goes on. */
export interface Continuing {
  readonly prefill: Exclude<Prefill, 'none'>;
  readonly echo: Echo;
}

/** What is known of an upstream, as far as it tells how it goes on. */
export interface PrefillFacts {
  /** As it is set; `auto` goes by the rest. */
  readonly setting: Prefill | 'auto';
  /** Host and path of an upstream's base address, with a slash at the end; empty for one's own machines. */
  readonly address: string;
  /** The `owned_by` of the model; null while unknown. */
  readonly ownedBy: string | null;
}

/** How it can be asked to go on; null where it cannot, or where nobody knows. */
export function continuingOf({ setting, address, ownedBy }: PrefillFacts): Continuing | null {
  const byEngine = prefillOf(ownedBy);
  const atHost = prefillAt(address);
  const prefill = setting === 'auto' ? (atHost ?? byEngine) : setting;
  if (prefill === 'none') return null;
  const isEngine = prefill === byEngine || (prefill === 'last-message' && ownedBy === 'llamacpp');
  if (isEngine) return { prefill, echo: 'never' };
  const isMistral = prefill === 'prefix' && address.startsWith('api.mistral.ai/');
  return { prefill, echo: isMistral ? 'always' : 'maybe' };
}

/**
 * What an engine can do by the `owned_by` of its `/v1/models`, where that is its own name. Others are
 * not guessed at: a last assistant message may just as well be answered as continued.
 */
export function prefillOf(ownedBy: string | null): Prefill {
  switch (ownedBy) {
    case 'vllm':
    case 'sglang':
    case 'llamacpp':
      return 'continue_final_message';
    default:
      return 'none';
  }
}

/** Services whose documents say what they do. Where it depends on the model (OpenRouter), it is for the owner to say. */
const HOSTS: readonly (readonly [address: RegExp, prefill: Prefill])[] = [
  [/^api\.mistral\.ai\//, 'prefix'],
  [/^api\.deepseek\.com\/beta(\/|$)/, 'prefix'],
  [/^api\.groq\.com\//, 'last-message'],
  [/^(api\.deepseek\.com|api\.openai\.com|api\.anthropic\.com|openrouter\.ai)\//, 'none'],
  [/^[^/]+\.openai\.azure\.com\//, 'none'],
  [/^generativelanguage\.googleapis\.com\//, 'none'],
];

/** What the service at an address (host and path) does; null where it is not known, so that it may be asked. */
export function prefillAt(address: string): Prefill | null {
  return HOSTS.find(([at]) => at.test(address))?.[1] ?? null;
}
