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
  readonly chatPath: string;
  /** What `model` is set to; null leaves the caller's. */
  readonly model: string | null;
  readonly apiKey: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly assemble: boolean;
  /** How it can be asked to go on from a begun answer. */
  readonly prefill: Prefill;
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

/** Paths behind the base address (interface 2.5). */
const CHAT_PATH = { local: '/v1/chat/completions', hosted: '/chat/completions' } as const;

/** The path that an upstream's chat completions go to. */
export function chatPathOf(id: UpstreamId): string {
  return id === 'local' || id === 'ondemand' ? CHAT_PATH.local : CHAT_PATH.hosted;
}

/**
 * Splits a base address. For `local` and `ondemand` a `/v1` at the end is dropped: their paths bring
 * it along, and people paste either form.
 */
export function endpointOf(baseUrl: string, id: UpstreamId): Endpoint {
  const url = new URL(baseUrl);
  const path = url.pathname.replace(/\/+$/, '');
  const userinfo = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    origin: url.origin,
    basePath: chatPathOf(id) === CHAT_PATH.local ? path.replace(/\/v1$/, '') : path,
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
    return [
      {
        id,
        endpoint,
        chatPath: chatPathOf(id),
        model,
        apiKey,
        headers,
        timeoutMs,
        assemble,
        prefill,
      },
    ];
  });
}

/** The model id for `local`: the caller's where it is offered, else what the engine has (design 4). */
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
   * server's extra parameters), SGLang (sgl-project/sglang#4226), llama.cpp too since ggml-org/llama.cpp#23012.
   */
  | 'continue_final_message'
  /**
   * `prefix: true` on the last message: Mistral, and DeepSeek behind its base address `/beta`
   * (api-docs.deepseek.com, Chat Prefix Completion).
   */
  | 'prefix';

/**
 * What an engine can do by the `owned_by` of its `/v1/models`, where that is its own name. Others are
 * not guessed at: a last assistant message may just as well be answered as continued.
 */
export function prefillOf(ownedBy: string | null): Prefill {
  switch (ownedBy) {
    case 'vllm':
    case 'sglang':
      return 'continue_final_message';
    case 'llamacpp':
      return 'last-message';
    default:
      return 'none';
  }
}

/**
 * Whether a continuation may say again what it was asked to go on from: Mistral does (vercel/ai#3256),
 * llama.cpp did before it had a switch for it (ggml-org/llama.cpp#23089).
 */
export function mayEcho(prefill: Prefill): boolean {
  return prefill === 'last-message' || prefill === 'prefix';
}
