import type { ModelFacts, ModelUse } from '#shared/models.ts';

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

/** What an engine said of a model; its name speaks where the engine does not. */
export function modelFacts(id: string, said: Partial<Omit<ModelFacts, 'id'>> = {}): ModelFacts {
  return {
    id,
    use: said.use ?? useByName(id),
    loaded: said.loaded ?? null,
    vision: said.vision ?? null,
    tools: said.tools ?? null,
    context_length: lengthOf(said.context_length),
    size_bytes: said.size_bytes ?? null,
    ...(said.vram_bytes === undefined ? {} : { vram_bytes: said.vram_bytes }),
  };
}

/** 0 is how engines write that they do not know; the registry takes no more than this. */
function lengthOf(tokens: number | null | undefined): number | null {
  const isLength = Number.isSafeInteger(tokens) && Number(tokens) > 0 && Number(tokens) <= 1e9;
  return isLength ? Number(tokens) : null;
}
