import type { ModelFacts, ModelUse, ModelNeeds } from '#shared/models.ts';
import { numberOf } from '../platform/json.ts';

/**
 * What a model's name says of its use, where its engine says nothing: vLLM, SGLang and MLX list embedders and
 * rerankers like any other model. The words are those of the models in Ollama's library and of MTEB's list.
 */
const RERANKER = /rerank|cross-encoder|colbert/i;
const EMBEDDER =
  /embed(?!ded)|\bminilm\b|(^|[/\-_])(bge|gte|e5|jina-clip|nomic-bert|sfr-mistral)([-_:]|$)|sentence-t5|paraphrase-(multilingual|mpnet)/i;
const SPEECH =
  /whisper|parakeet|kokoro|(^|[/\-_])(tts|stt|asr)([-_:\d]|$)|stable-diffusion|flux\.?1/i;

export function useByName(id: string): ModelUse | null {
  if (RERANKER.test(id)) return 'rerank';
  if (EMBEDDER.test(id)) return 'embedding';
  return SPEECH.test(id) ? 'other' : null;
}

/** Ollama passes on what has such a tag (ollama/ollama, internal/modelref); older agents report no more than the name. */
const CLOUD = /:([^:/]*-)?cloud$/i;

/** What an engine said of a model; its name speaks where the engine does not. */
export function modelFacts(id: string, said: Partial<Omit<ModelFacts, 'id'>> = {}): ModelFacts {
  return {
    loaded: null,
    vision: null,
    tools: null,
    size_bytes: null,
    ...(CLOUD.test(id) && { remote: true }),
    ...said,
    id,
    use: said.use ?? useByName(id),
    context_length: lengthOf(said.context_length),
  };
}

/** 0 is how engines write that they do not know; the registry takes no more than this. */
function lengthOf(tokens: number | null | undefined): number | null {
  const isLength = Number.isSafeInteger(tokens) && Number(tokens) > 0 && Number(tokens) <= 1e9;
  return isLength ? Number(tokens) : null;
}

/** The most tokens that a model takes, as its engine says. */
export function mostTokens(said: unknown): Pick<Partial<ModelFacts>, 'max_context_length'> {
  const most = lengthOf(numberOf(said));
  return most === null ? {} : { max_context_length: most };
}

interface Circumstances {
  /** The model that last answered here. */
  readonly lastUsed: string | null;
  /** The memory of all GPUs together; null while unknown. */
  readonly memoryBytes: number | null;
}

/** Beside its weights, a model needs room for its context. */
const SHARE_FOR_WEIGHTS = 0.9;
const NOT_FOR_CHAT = 5;

/**
 * The models in the order in which an unknown name goes to them: what is loaded, as loading another throws it out; the
 * one used last; then the largest that fits. What is not for chat comes last, and is never chosen.
 */
export function byPreference(
  models: readonly ModelFacts[],
  { lastUsed, memoryBytes }: Circumstances,
): readonly ModelFacts[] {
  const fits = ({ size_bytes: size }: ModelFacts) =>
    size === null || memoryBytes === null || size <= memoryBytes * SHARE_FOR_WEIGHTS;
  const rank = (model: ModelFacts) => {
    if (!isForChat(model)) return NOT_FOR_CHAT;
    if (model.loaded === true) return model.id === lastUsed ? 0 : 1;
    if (model.id === lastUsed) return 2;
    return fits(model) ? 3 : 4;
  };
  // If the memory is unknown, or too small for any, the smallest is the one that most likely runs.
  const bySize = (model: ModelFacts) => {
    const bytes = model.size_bytes ?? 0;
    if (rank(model) === 3 && memoryBytes !== null) return -bytes;
    return rank(model) === 3 || rank(model) === 4 ? bytes : 0;
  };
  return models.toSorted((a, b) => rank(a) - rank(b) || bySize(a) - bySize(b));
}

/**
 * Whether it may answer a chat that does not name it: an engine that does not say what its models are for is believed to
 * chat, and only an app that names a remote model means it.
 */
export function isForChat(model: ModelFacts): boolean {
  return (model.use === null || model.use === 'chat') && model.remote !== true;
}

/** The loaded model that answers chats; one that cannot where no other is loaded. */
export function currentModel(
  facts: readonly ModelFacts[],
  loaded: readonly string[] | null,
): string | null {
  const forChat = facts.find((model) => model.loaded === true && isForChat(model));
  return forChat?.id ?? loaded?.[0] ?? null;
}

/** The model for a name that the engine does not have, of `models` in the order of preference; null if none can chat. */
export function standIn(models: readonly ModelFacts[], needs: () => ModelNeeds): ModelFacts | null {
  const able = models.filter(isForChat);
  const first = able[0] ?? null;
  // Most have one, and what a request needs is searched for in its bytes.
  if (able.length < 2) return first;
  const { vision, tools } = needs();
  const lacks = (model: ModelFacts) =>
    Number(vision && model.vision === false) * 2 + Number(tools && model.tools === false);
  return able.toSorted((a, b) => lacks(a) - lacks(b))[0] ?? null;
}
