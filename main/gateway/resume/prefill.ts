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
