import { isObject, listOf, memberOf } from '../../../platform/json.ts';
import { type UpstreamError, errorIn, wordsOnly } from '../upstream-error.ts';

/** What an event, or a whole answer, brings. */
export type Substance = AnswerPiece | { readonly kind: 'error'; readonly error: UpstreamError };

export interface AnswerPiece {
  /** `nothing`: well-formed without content: a role, a finish reason, usage. */
  readonly kind: 'content' | 'nothing';
  /** Why the answer, or a choice of it, ends with this piece; null if it goes on. */
  readonly finish: Finish | null;
  readonly outputTokens: number | null;
}

type Json = Readonly<Record<string, unknown>>;

/** Fields of generated text, under the names that engines use. */
const TEXT_FIELDS: readonly string[] = [
  'content',
  'reasoning_content',
  'reasoning',
  // GitHub Copilot (BerriAI/litellm#35021).
  'reasoning_text',
  'refusal',
];

/** Judges a chunk of a stream (`choices[].delta`) or a whole answer (`choices[].message`). */
export function substanceOf(value: unknown): Substance {
  const error = errorIn(value);
  if (error !== null) return { kind: 'error', error };
  if (!isObject(value)) return failedWith('not a JSON object');
  let isContent = false;
  let finish: Finish | null = null;
  for (const choice of listOf(value['choices'])) {
    if (!isObject(choice)) continue;
    const end = endOf(choice['finish_reason']);
    // Some engines end with this after a crash or a filter of their own; it is no answer.
    if (end === 'broken') return failedWith(brokenOff(choice));
    finish = end ?? finish;
    isContent ||= hasContent(choice);
  }
  const tokens = memberOf(value['usage'], 'completion_tokens');
  const outputTokens = typeof tokens === 'number' ? tokens : null;
  return { kind: isContent ? 'content' : 'nothing', finish, outputTokens };
}

export const failedWith = (message: string): Substance => ({
  kind: 'error',
  error: wordsOnly(message),
});

export const brokenOff = (choice: unknown): string =>
  `The upstream broke off its answer: ${String(memberOf(choice, 'finish_reason'))}.`;

function hasContent(choice: Json): boolean {
  const said = choice['delta'] ?? choice['message'];
  return isObject(said) && isFilled(said);
}

function isFilled(said: Json): boolean {
  return (
    TEXT_FIELDS.some((field) => isText(said[field])) ||
    isObject(said['tool_calls']) ||
    listOf(said['tool_calls']).length > 0 ||
    isObject(said['function_call']) ||
    isObject(said['audio'])
  );
}

/** Mistral sends lists of parts (symfony/ai#2424), Cloudflare a lone digit as a number (decolua/9router#1645). */
const isText = (value: unknown): boolean =>
  typeof value === 'number' ||
  ((typeof value === 'string' || Array.isArray(value)) && value.length > 0);

/** What llama-swap's notices begin with. */
const NOTICE = '━━━━━';

/**
 * Tells from an answer what only says that one will come: llama.cpp's progress in reading the prompt, and llama-swap's
 * notices while it loads a model (`sendLoadingState`, on in its example configuration), which are thoughts in chunks that
 * name neither the answer nor the model (mostlygeek/llama-swap, internal/router/loading.go). The answer or an error follows
 * in the same stream.
 */
export function createNoticeFilter(): (chunk: unknown) => boolean {
  let isLoading = false;
  return (chunk) => {
    if (isObject(chunk) && chunk['prompt_progress'] !== undefined) return true;
    const text = namelessThought(chunk);
    isLoading = text !== null && (isLoading || text.startsWith(NOTICE));
    return isLoading;
  };
}

function namelessThought(chunk: unknown): string | null {
  const choices = listOf(only(chunk, 'choices'));
  const text = choices.length === 1 ? only(only(choices[0], 'delta'), 'reasoning_content') : null;
  return typeof text === 'string' ? text : null;
}

/** The member of an object that has no other. */
const only = (value: unknown, name: string): unknown =>
  isObject(value) && Object.keys(value).length === 1 ? value[name] : undefined;

export type Finish = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** `broken`: the engine gave up in the middle of its answer; null: it goes on. */
export type End = Finish | 'broken' | null;

/**
 * Reasons by other names: Google, Cohere, Mistral (`model_length`), Z.ai (`sensitive`, `network_error`,
 * `model_context_window_exceeded`), Bedrock, vLLM and SGLang (`abort`), LMDeploy (`parse_error`), DeepSeek
 * (Portkey-AI/gateway, finishReasonMap.ts; vercel/ai, map-*-finish-reason.ts).
 */
const NAMES: Readonly<Record<Exclude<End, null>, string>> = {
  stop: 'stop',
  length: 'length max_tokens model_length model_context_window_exceeded error_limit',
  tool_calls: 'tool_calls tool_call tool_use function_call',
  content_filter:
    'content_filter content_filtered guardrail_intervened sensitive safety prohibited_content spii blocklist recitation image_safety image_prohibited_content image_recitation language refusal error_toxic',
  // Google's: neither text nor a call, and the same again for the same request (agentjido/req_llm#935).
  broken:
    'error abort cancelled timeout network_error insufficient_system_resource malformed_function_call malformed_response unexpected_tool_call too_many_tool_calls missing_thought_signature parse_error',
};

const ENDS: ReadonlyMap<string, End> = new Map(
  Object.entries(NAMES).flatMap(([end, names]) =>
    names.split(' ').map((name) => [name, end as End] as const),
  ),
);

/**
 * What a `finish_reason` says. `""` (SGLang 0.4.3, sgl-project/sglang#3912) and `"null"` (KoboldCpp) are none, and
 * any other word means that the model stopped by itself: `eos`, `stop_sequence`, `COMPLETE`, `end_turn`.
 */
export function endOf(reason: unknown): End {
  if (typeof reason !== 'string' || reason === '' || reason === 'null') return null;
  const known = ENDS.get(reason);
  if (known !== undefined) return known;
  // Gemini puts what filtered it in front: `function_call_filter: MALFORMED_FUNCTION_CALL`.
  const [last = ''] = reason.toLowerCase().split(': ').slice(-1);
  return ENDS.get(last) ?? 'stop';
}

/**
 * Whether an answer without content is right all the same: a model has nothing to add after a tool's result, its
 * hidden reasoning has used up the limit, a filter has taken everything out.
 */
export type EmptyAnswer = ReturnType<typeof createEmptyAnswer>;

export function createEmptyAnswer() {
  let finish: Finish | null = null;
  let tokens: number | null = null;

  function isRight(): boolean {
    if (finish === 'length' || finish === 'content_filter') return true;
    // A failure that is dressed as an answer has no tokens (BerriAI/litellm#38199).
    return finish === 'stop' && tokens !== null && tokens > 0;
  }

  return {
    add(piece: AnswerPiece) {
      finish = piece.finish ?? finish;
      tokens = piece.outputTokens ?? tokens;
    },
    /** Whether it is known to be right before its end. */
    isRight,
    /** Judged at the end. `unfinished`: it never said that it was finished. */
    verdict(followsToolResult: () => boolean): 'right' | 'wrong' | 'unfinished' {
      if (finish === null) return 'unfinished';
      const isUntold = finish === 'stop' && tokens === null;
      return isRight() || (isUntold && followsToolResult()) ? 'right' : 'wrong';
    },
  };
}
