import { isObject } from '#shared/objects.ts';
import { listOf, memberOf } from '../../../platform/json.ts';

/** Why an answer ended, as chat completions name it. */
export type Finish = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** `broken`: the engine gave up in the middle of its answer; null: it goes on. */
export type End = Finish | 'broken' | null;

/**
 * Reasons by other names: Google, Cohere, Mistral (`model_length`), Z.ai (`sensitive`, `network_error`,
 * `model_context_window_exceeded`), Bedrock, vLLM and SGLang (`abort`), DeepSeek (Portkey-AI/gateway,
 * finishReasonMap.ts; vercel/ai, map-*-finish-reason.ts).
 */
const ENDS: Readonly<Record<string, Exclude<End, null>>> = {
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  model_context_window_exceeded: 'length',
  error_limit: 'length',
  tool_calls: 'tool_calls',
  tool_call: 'tool_calls',
  tool_use: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  content_filtered: 'content_filter',
  guardrail_intervened: 'content_filter',
  sensitive: 'content_filter',
  safety: 'content_filter',
  prohibited_content: 'content_filter',
  spii: 'content_filter',
  blocklist: 'content_filter',
  recitation: 'content_filter',
  refusal: 'content_filter',
  error_toxic: 'content_filter',
  error: 'broken',
  abort: 'broken',
  cancelled: 'broken',
  timeout: 'broken',
  network_error: 'broken',
  insufficient_system_resource: 'broken',
  // Google: neither text nor a call, and the same again for the same request (agentjido/req_llm#935).
  malformed_function_call: 'broken',
};

/**
 * What a `finish_reason` says. `""` (SGLang 0.4.3, sgl-project/sglang#3912) and `"null"` (KoboldCpp) are none, and
 * any other word means that the model stopped by itself: `eos`, `stop_sequence`, `COMPLETE`, `end_turn`.
 */
export function endOf(reason: unknown): End {
  if (typeof reason !== 'string' || reason === '' || reason === 'null') return null;
  const known = reason.toLowerCase();
  return Object.hasOwn(ENDS, known) ? (ENDS[known] ?? null) : 'stop';
}

/** The reason as clients know it; null while the answer goes on. For reasons that are not `broken`. */
export function standardReason(reason: unknown): string | null {
  return typeof reason === 'string' && STANDARD.has(reason) ? reason : endOf(reason);
}

const STANDARD: ReadonlySet<string> = new Set([
  'stop',
  'length',
  'tool_calls',
  'content_filter',
  'function_call',
]);

/**
 * Whether an answer without content is right all the same: a model has nothing to add after a tool's result, its
 * hidden reasoning has used up the limit, a filter has taken everything out.
 */
export interface EmptyAnswer {
  /** Takes a chunk, or a whole answer. */
  add(value: unknown): void;
  /** Whether it is known to be right before its end. */
  isRight(): boolean;
  /** Judged at the end. `unfinished`: it never said that it was finished. */
  verdict(followsToolResult: () => boolean): 'right' | 'wrong' | 'unfinished';
}

export function createEmptyAnswer(): EmptyAnswer {
  let finish: Finish | null = null;
  let tokens: number | null = null;

  function isRight(): boolean {
    if (finish === 'length' || finish === 'content_filter') return true;
    // A failure that is dressed as an answer has no tokens (BerriAI/litellm#38199).
    return finish === 'stop' && tokens !== null && tokens > 0;
  }

  return {
    add(value) {
      if (!isObject(value)) return;
      for (const choice of listOf(value['choices'])) {
        const end = endOf(memberOf(choice, 'finish_reason'));
        if (end !== null && end !== 'broken') finish = end;
      }
      const output = memberOf(value, 'usage', 'completion_tokens');
      if (typeof output === 'number') tokens = output;
    },
    isRight,
    verdict(followsToolResult) {
      if (finish === null) return 'unfinished';
      const isUntold = finish === 'stop' && tokens === null;
      return isRight() || (isUntold && followsToolResult()) ? 'right' : 'wrong';
    },
  };
}
