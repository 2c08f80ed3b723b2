import { basePathOf } from '#shared/base-url.ts';
import { HOSTED_IDS, type HostedId, type UpstreamId } from '#shared/ids.ts';
import { defaultLabel, prefixOf } from '#shared/services.ts';
import type { ModelFacts, ModelNeeds } from '#shared/models.ts';
import type { SkipReason } from '#shared/reasons.ts';
import type { Config } from '../../config/schema.ts';
import { isForChat, modelFacts, standIn } from '../../engines/models.ts';
import { basicAuthOf } from '../../platform/addresses.ts';
import { memoizeLast } from '../../platform/memoize.ts';
import type { HttpRequest } from '../../platform/http/types.ts';
import type { ListedModel } from './listed-models.ts';
import { type OwnSecrets, ownSecrets } from '../protocols/upstream-error.ts';

/** `signal`: of a fixed engine's calls. An agent ends those that go through it. */
export interface BaseAddress extends Pick<HttpRequest, 'signal'> {
  readonly origin: string;
  /** The path of the base URL, without a slash at its end. */
  readonly basePath: string;
  /** The path below which its API is, with the version. */
  readonly apiPath: string;
  /** The query of the base URL with its `?`, or empty. */
  readonly query: string;
  /** `Basic` credentials from the address's userinfo, or null. */
  readonly basicAuth: string | null;
  /** Reached through a proxy, if the environment names one. One's own machines are not. */
  readonly proxied: boolean;
}

export type Protocols = 'auto' | 'native' | 'chat';

/** A configured hosted upstream, or `ondemand`. */
export interface RemoteUpstream {
  readonly id: HostedId | 'ondemand';
  /** Its name before a model chooses it: `openai` in `openai/gpt-5-mini`. */
  readonly prefix: string;
  readonly baseAddress: BaseAddress;
  /** Replaces the caller's `model`; null keeps it. */
  readonly model: string | null;
  /** Further names that it takes as they are. */
  readonly models: readonly string[];
  readonly apiKey: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Must not come back to a caller. */
  readonly secrets: OwnSecrets;
  readonly timeoutMs: number;
  readonly hasBudget: boolean;
  readonly assemble: boolean;
  readonly prefill: PrefillFacts;
  readonly protocols: Protocols;
}

/** The engine or provider that serves `local` for one request. */
export interface LocalTarget {
  /** Null for a fixed engine. */
  readonly provider: string | null;
  readonly baseAddress: BaseAddress;
  /** The models it lists, the loaded one first; none while unknown. */
  readonly models: readonly string[];
  /** The same as its list has them; none of a machine, which has no list. */
  readonly listed: readonly ListedModel[];
  /** What is known of each, in the order in which a name that it does not have goes to them. */
  readonly facts: readonly ModelFacts[];
  /** The `owned_by` of its models, which identifies some engines; null while unknown. */
  readonly ownedBy: string | null;
  /** Authenticates the gateway to the agent; null for a fixed engine. */
  readonly gatewayToken: string | null;
}

/** What serves `local` now, or why nothing does. */
export type LocalChoice =
  | { readonly kind: 'target'; readonly target: LocalTarget }
  /** The verified providers with a recent heartbeat; at least one. */
  | { readonly kind: 'tier'; readonly targets: readonly LocalTarget[] }
  | {
      readonly kind: 'none';
      readonly reason: SkipReason;
      /** The cause for each machine, in the gateway's words. */
      readonly causes?: () => string;
    };

export interface LocalSources {
  /** The fixed engine, or why it is not called; null while none is set. Replaced when that changes, so requests just read it. */
  readonly fixed: { readonly choice: LocalChoice | null };
  /** Picks from the machines of the registry. */
  readonly pickMachines: () => LocalChoice;
}

/** The machines that may serve `local` now; of a fixed engine just that. */
export function targetsOf(choice: LocalChoice): readonly LocalTarget[] {
  if (choice.kind === 'target') return [choice.target];
  return choice.kind === 'tier' ? choice.targets : [];
}

/** The id of a machine's circuit and counters; a fixed engine has those of the upstream. */
export function circuitIdOf({ provider }: LocalTarget): string {
  return provider ?? 'local';
}

/** A hosted base address ends with the version of the API; an engine's may or may not. */
export const versionPath = (id: UpstreamId) => (id === 'local' || id === 'ondemand' ? '/v1' : '');

/** Splits a base address. An endpoint behind it is dropped. People give an engine's with or without `/v1`. */
export function parseBaseAddress(baseUrl: string, id: UpstreamId): BaseAddress {
  const url = new URL(baseUrl);
  const version = versionPath(id);
  const path = basePathOf(url.pathname);
  const basePath = version === '' ? path : path.replace(/\/v1$/, '');
  return {
    origin: url.origin,
    basePath,
    apiPath: basePath + version,
    query: url.search,
    basicAuth: basicAuthOf(url),
    proxied: id !== 'local',
  };
}

/** The hosted upstreams that are configured, in routing order, then `ondemand`. */
export const remoteUpstreams = memoizeLast((config: Config): readonly RemoteUpstream[] => {
  const prefixes = new Set<string>();
  return [...HOSTED_IDS, 'ondemand' as const].flatMap((id) => {
    const { baseUrl, label, prefill, ...settings } = config[id];
    if (baseUrl === null) return [];
    const name = prefixOf(label ?? defaultLabel(id, baseUrl));
    // If two have the same name, the later one is called by its id.
    const prefix = prefixes.has(name) ? id : name;
    prefixes.add(prefix);
    const baseAddress = parseBaseAddress(baseUrl, id);
    const address = `${new URL(baseUrl).hostname}${baseAddress.basePath}/`;
    const { apiKey, headers } = settings;
    return [
      {
        ...settings,
        id,
        prefix,
        baseAddress,
        hasBudget: (settings.budgetDay ?? settings.budgetMonth) !== null,
        secrets: ownSecrets(baseAddress, [apiKey, ...Object.values(headers)]),
        prefill: { setting: prefill, address, ownedBy: null },
      },
    ];
  });
});

/* `MODEL_ALIASES`: what the owner calls models, each as `name=model`; in a name, `*` stands for any text. */

interface Alias {
  readonly name: string;
  readonly model: string;
}

export function aliasOf(pair: string): Alias {
  const at = pair.indexOf('=');
  return { name: pair.slice(0, at), model: pair.slice(at + 1) };
}

/** Of the patterns the longest first. */
const aliasesIn = memoizeLast((pairs: readonly string[]) => {
  const all = pairs.map(aliasOf);
  const isPattern = ({ name }: Alias) => name.includes('*');
  return {
    exact: new Map(all.filter((each) => !isPattern(each)).map(({ name, model }) => [name, model])),
    patterns: all.filter(isPattern).toSorted((a, b) => b.name.length - a.name.length),
  };
});

interface AliasRequest {
  readonly name: string;
  /** An engine or a list of models of the owner has that very name; then no pattern takes it away. */
  readonly isOwn: (name: string) => boolean;
  /** Embeddings and the like, for which `*` alone does not mean. */
  readonly keepsModel: boolean;
}

/** The model that a name stands for: by its own alias, else by the longest pattern; null if there is none. */
export function aliased(
  pairs: readonly string[],
  { name, isOwn, keepsModel }: AliasRequest,
): string | null {
  const { exact, patterns } = aliasesIn(pairs);
  const own = exact.get(name);
  if (own !== undefined) return own;
  const pattern = patterns.find(
    (each) => !(keepsModel && each.name === '*') && matches(name, each.name),
  );
  return pattern === undefined || isOwn(name) ? null : pattern.model;
}

export function namedAliases(pairs: readonly string[]): Iterable<readonly [string, string]> {
  return aliasesIn(pairs).exact;
}

export function isAliasedModel(pairs: readonly string[], model: string): boolean {
  const { exact, patterns } = aliasesIn(pairs);
  return [...exact.values()].includes(model) || patterns.some((each) => each.model === model);
}

/** Each text between two stars is found where it comes first, so that no name takes long. */
export function matches(name: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

/** A hosted model that its caller has chosen by the name in the list of models. */
export interface PickedModel {
  readonly upstream: RemoteUpstream['id'];
  /** As the upstream names it. */
  readonly model: string;
}

/**
 * Null if the name is none that an upstream is listed with, or that the owner has given a model: the price and the budget
 * of an upstream are for the models that it is set to. Its prefix may be in any case.
 */
export function pickedModel(
  name: string | null,
  remotes: readonly RemoteUpstream[],
  local: LocalChoice,
  aliases: readonly string[],
): PickedModel | null {
  const lowered = name?.toLowerCase() ?? '';
  const upstream = remotes.find(({ prefix }) => lowered.startsWith(`${prefix}/`));
  if (name === null || upstream === undefined) return null;
  const model = name.slice(upstream.prefix.length + 1);
  // An engine may have a model of such a name itself.
  if (model === '' || isOwnModel(name, remotes, local)) return null;
  const isMeant = servesModel(upstream, model) || isAliasedModel(aliases, name);
  return isMeant ? { upstream: upstream.id, model } : null;
}

/** Whether an upstream would be sent just the model that was asked for; null: none was. */
export function servesModel(upstream: RemoteUpstream, requested: string | null): boolean {
  if (requested === null) return true;
  const taken = takenModels(upstream);
  return taken.length === 0 || taken.includes(requested);
}

/** The names that an upstream takes, the one it is set to first; empty: any. */
export function takenModels({ model, models }: RemoteUpstream): readonly string[] {
  return model === null || models.includes(model) ? models : [model, ...models];
}

/** The model that an upstream is sent; null leaves it out. */
export function remoteModel(upstream: RemoteUpstream, requested: string | null): string | null {
  if (requested !== null && servesModel(upstream, requested)) return requested;
  return upstream.model ?? upstream.models[0] ?? null;
}

/** Whether an engine has a model, as far as it lists its models. */
export function hasModel({ models }: LocalTarget, requested: string | null): boolean {
  return requested === null || models.length === 0 || nameAt(models, requested) !== null;
}

/** Whether the owner has a model of that name: in an engine, or in an upstream's list. */
export function isOwnModel(
  model: string,
  remotes: readonly RemoteUpstream[],
  local: LocalChoice,
): boolean {
  return (
    remotes.some(({ models }) => models.includes(model)) ||
    targetsOf(local).some((target) => nameAt(target.models, model) !== null)
  );
}

export interface ModelRequest {
  readonly model: string | null;
  readonly needs: () => ModelNeeds;
}

/** The caller's model if the engine lists it or lists none, otherwise the one that stands in; null if none can chat. */
export function localModel(target: LocalTarget, { model, needs }: ModelRequest): string | null {
  const { models, facts } = target;
  if (models.length === 0) return model;
  return (model === null ? null : nameAt(models, model)) ?? standIn(facts, needs)?.id ?? null;
}

/** The model that an engine or machine is sent. */
export interface LocalModel {
  /** Null leaves it to the engine. */
  readonly model: string | null;
  /** What the engine says of it; null if that is nothing. */
  readonly facts: ModelFacts | null;
  /** The engine passes on what is asked of it, as Ollama does for a model of its cloud. */
  readonly isElsewhere: boolean;
}

interface ServedRequest extends ModelRequest {
  readonly endpoint: { readonly keepsModel: boolean };
}

export function modelAt(target: LocalTarget, request: ServedRequest): LocalModel {
  const model = request.endpoint.keepsModel ? request.model : localModel(target, request);
  if (model === null) return { model, facts: null, isElsewhere: false };
  const facts = factsAbout(target, model);
  return { model, facts, isElsewhere: (facts ?? modelFacts(model)).remote === true };
}

/** What an engine says of a model; null if that is nothing. */
export function factsAbout({ models, facts }: LocalTarget, model: string): ModelFacts | null {
  const name = listedName(models, model) ?? model;
  return facts.find(({ id }) => id === name) ?? null;
}

/** Whether the engine has a model for a chat that names `requested`; one that lists nothing is believed to. */
export function canChat({ models, facts }: LocalTarget, requested: string | null): boolean {
  if (models.length === 0) return true;
  return (requested !== null && nameAt(models, requested) !== null) || facts.some(isForChat);
}

/** What an engine is to be sent for a name; null if it does not list it. */
function nameAt(models: readonly string[], requested: string): string | null {
  const name = listedName(models, requested);
  // Ollama takes a name without the tag that it lists.
  return name === `${requested}:latest` ? requested : name;
}

/** What an engine calls a model; null if it does not list it. */
export function listedName(models: readonly string[], requested: string): string | null {
  if (models.includes(requested)) return requested;
  // Ollama lists a tag that callers leave out.
  if (models.includes(`${requested}:latest`)) return `${requested}:latest`;
  // Docker Model Runner lists `docker.io/ai/gemma3n:latest` and may refuse `ai/gemma3n` (docker/hello-genai#25).
  const long = `docker.io/${requested}`;
  const found = models.find((name) => name === long || name === `${long}:latest`);
  if (found !== undefined) return found;
  // Some apps write all names in lower case (nhaouari/obsidian-textgenerator-plugin#304).
  const lower = requested.toLowerCase();
  const forms = [lower, `${lower}:latest`];
  const isForm = (name: string) =>
    forms.some((form) => form.length === name.length && form === name.toLowerCase());
  return models.find(isForm) ?? null;
}

/** The names by which callers may ask for a listed model: the reverse of `listedName`. */
export function askedNames(listed: string): readonly string[] {
  const short = listed.replace(/^docker\.io\//, '');
  return [...new Set([listed, short, short.replace(/:latest$/, '')])];
}

/** How an upstream is asked to continue a partial answer. */
export type Prefill =
  /** It is not supported or unknown: OpenAI and Claude 4.6 and later begin a new answer or refuse. */
  | 'none'
  /**
   * A last message with role `assistant` is continued without any flag: llama.cpp (ggml-org/llama.cpp#13174; 400
   * for a thinking model, #20861), Ollama (ollama/ollama#6778), LMDeploy (InternLM/lmdeploy#2798), Groq
   * (console.groq.com/docs/prefilling), OpenRouter where the model can, Anthropic up to Claude 4.5.
   */
  | 'last-message'
  /**
   * `continue_final_message: true`, which excludes `add_generation_prompt`: vLLM (its OpenAI-compatible
   * server's extra parameters), SGLang (sgl-project/sglang#4226), llama.cpp since ggml-org/llama.cpp#23012;
   * an older one ignores the flag and continues the last message all the same.
   */
  | 'continue_final_message'
  /**
   * `prefix: true` on the last message: Mistral, and DeepSeek behind its base address `/beta`
   * (api-docs.deepseek.com, Chat Prefix Completion).
   */
  | 'prefix';

/** Whether a continuation repeats the partial answer first. */
export type Echo =
  /** The engine is known to send new text only, so equal text is part of the answer. */
  | 'never'
  /** Unknown; it may even begin a new answer. */
  | 'maybe'
  /** It comes in one piece at the start: Mistral (vercel/ai#3256). */
  | 'always';

export interface Continuing {
  readonly prefill: Exclude<Prefill, 'none'>;
  readonly echo: Echo;
  /** The thought that led to the text may be sent along. Engines ignore what they do not know, services refuse it. */
  readonly takesThought: boolean;
  /** A thought without any text is continued, too (ggml-org/llama.cpp#23089). */
  readonly continuesThought: boolean;
}

/** What is known of an upstream before it is asked. */
export interface UpstreamFacts {
  /** Host and path of the base address, with a slash at the end; empty for `local`. */
  readonly address: string;
  /** The `owned_by` of its models, which identifies some engines; null while unknown. */
  readonly ownedBy: string | null;
}

export interface PrefillFacts extends UpstreamFacts {
  /** `auto` goes by the other two. */
  readonly setting: Prefill | 'auto';
}

/** How an upstream can be asked to continue; null if it cannot or if that is unknown. */
export function continuingOf({ setting, address, ownedBy }: PrefillFacts): Continuing | null {
  const byEngine = CONTINUES_LAST_MESSAGE.has(ownedBy) ? 'continue_final_message' : 'none';
  const prefill = setting === 'auto' ? (serviceAt(address)?.prefill ?? byEngine) : setting;
  if (prefill === 'none') return null;
  const isLlama = ownedBy === 'llamacpp';
  const takesThought = prefill === 'continue_final_message' || isLlama;
  const thoughts = { takesThought, continuesThought: isLlama };
  const isEngine = prefill === byEngine || (prefill === 'last-message' && isLlama);
  if (isEngine) return { prefill, echo: 'never', ...thoughts };
  const isMistral = prefill === 'prefix' && address.startsWith('api.mistral.ai/');
  return { prefill, echo: isMistral ? 'always' : 'maybe', ...thoughts };
}

/**
 * Engines by the `owned_by` of their `/v1/models`, if that is their own name. No guess is made for others: they may answer
 * a last assistant message instead of continuing it.
 */
const CONTINUES_LAST_MESSAGE: ReadonlySet<string | null> = new Set(['vllm', 'sglang', 'llamacpp']);

const MESSAGES = ['/messages', '/messages/count_tokens'];
const RESPONSES = ['/responses'];
const NEITHER = [...MESSAGES, ...RESPONSES];

interface Service {
  readonly at: RegExp;
  readonly prefill: Prefill;
  /** Paths of endpoints that it does not have. */
  readonly lacks: readonly string[];
}

/**
 * What services document; the first that is at an address counts. Where a prefill depends on the model (OpenRouter), the
 * owner has to set it; for an endpoint that is added later, the owner sets `_PROTOCOLS=native`.
 */
const SERVICES: readonly Service[] = [
  { at: /^api\.mistral\.ai\//, prefill: 'prefix', lacks: NEITHER },
  { at: /^api\.deepseek\.com\/beta\//, prefill: 'prefix', lacks: NEITHER },
  { at: /^api\.deepseek\.com\/anthropic\//, prefill: 'none', lacks: RESPONSES },
  { at: /^api\.deepseek\.com\//, prefill: 'none', lacks: NEITHER },
  { at: /^api\.groq\.com\//, prefill: 'last-message', lacks: MESSAGES },
  { at: /^(api\.openai\.com|[^/]+\.openai\.azure\.com)\//, prefill: 'none', lacks: MESSAGES },
  { at: /^api\.anthropic\.com\//, prefill: 'none', lacks: RESPONSES },
  { at: /^(openrouter\.ai|generativelanguage\.googleapis\.com)\//, prefill: 'none', lacks: [] },
];

const serviceAt = (address: string) => SERVICES.find(({ at }) => at.test(address));

/**
 * Whether an upstream is better asked for a chat completion. The streamed responses of llama.cpp (b11669) have no
 * `output_index`, without which OpenAI's clients throw, and call an answer that was cut off `completed`.
 */
export function isKnownToLack(path: string, { address, ownedBy }: UpstreamFacts): boolean {
  if (ownedBy === 'llamacpp' && RESPONSES.includes(path)) return true;
  return serviceAt(address)?.lacks.includes(path) === true;
}
