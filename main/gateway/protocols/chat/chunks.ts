import { isDeepStrictEqual } from 'node:util';
import { isObject, listOf, memberOf } from '../../../platform/json.ts';
import { type UpstreamError, errorIn, wordsOnly } from '../upstream-error.ts';
import { type CallOrder, callPieceOf, createCallOrder, type PlacedPiece } from './calls.ts';

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
    callsIn(said['tool_calls']).length > 0 ||
    isObject(said['function_call']) ||
    isObject(said['audio'])
  );
}

/** The pieces in `tool_calls` of a delta or a message: TGI up to 3.1 sends one instead of a list (huggingface/text-generation-inference#2949). */
export function callsIn(toolCalls: unknown): readonly Json[] {
  return (isObject(toolCalls) ? [toolCalls] : listOf(toolCalls)).filter(isObject);
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

/** Requests ask for a few; each takes memory. */
const MAX_CHOICES = 10_000;

interface Choice {
  /** Null before the first piece of a tool call. */
  order: CallOrder | null;
  isFinished: boolean;
}

/**
 * Puts right what clients stumble over in the chunks of one answer, and leaves every chunk as it is that follows the
 * format: calls that share an index or have none (see `createCallOrder`), a call without an id or with its name in a
 * later piece, arguments as an object or none at all, a repeated id or name, which clients append; finish reasons
 * that are none, unknown or said twice; an empty role; a digit as a number; no list of choices
 * (earendil-works/pi#1671, cline/cline#8527).
 */
export class ChunkRepair {
  /** How many choices have their finish reason. */
  finished = 0;
  readonly #choices = new Map<unknown, Choice>();

  /** The chunk itself where nothing was wrong; null if nothing is left of it; a text if the answer is broken. */
  take(chunk: Json): Json | string | null {
    const before = listOf(chunk['choices']);
    if (this.#choices.size + before.length > MAX_CHOICES) return 'too many choices';
    const after: unknown[] = [];
    for (const given of before) {
      const fixed = isObject(given) ? this.#repaired(given) : given;
      if (typeof fixed === 'string') return fixed;
      if (fixed !== null) after.push(fixed);
    }
    // A ping has nothing at all.
    const hasChoices = Array.isArray(chunk['choices']) || Object.keys(chunk).length === 0;
    if (areSame(after, before)) return hasChoices ? chunk : { ...chunk, choices: after };
    return after.length === 0 && !isObject(chunk['usage']) ? null : { ...chunk, choices: after };
  }

  #repaired(given: Json): Json | string | null {
    const index = given['index'] ?? 0;
    const choice: Choice = this.#choices.get(index) ?? { order: null, isFinished: false };
    this.#choices.set(index, choice);
    const wasFinished = choice.isFinished;
    const fixed = repairedChoice(given, choice);
    if (choice.isFinished && !wasFinished) this.finished += 1;
    return fixed;
  }
}

/** The last chunk of some engines has no delta, and what is missing until then goes into one. */
const NO_DELTA: Json = {};

/** As `take`, for a choice. */
function repairedChoice(given: Json, choice: Choice): Json | string | null {
  const { finish_reason: reason } = given;
  const delta = [given['delta'], deltaOf(given['message'])].find(isObject) ?? NO_DELTA;
  const end = endOf(reason);
  if (end === 'broken') return brokenOff(given);
  const isRepeated = end !== null && choice.isFinished;
  const isLast = end !== null && !isRepeated;
  const said = repairedDelta(delta, choice, isLast);
  if (typeof said === 'string') return said;
  choice.isFinished ||= isLast;
  if (isRepeated && isBlank(said) && isBlank(given['text'])) return null;
  const finish = isLast ? finishAfter(reason, choice) : null;
  const isSaid = said === NO_DELTA || said === given['delta'];
  return isSaid && (reason ?? null) === finish
    ? given
    : { ...withFinish(given, finish), ...(said !== NO_DELTA && { delta: said }) };
}

/** With the engine's own word for a stop sequence under OpenRouter's name: translations tell it. */
function withFinish(choice: Json, finish: string | null): Json {
  const own = choice['finish_reason'] === 'stop_sequence' && {
    native_finish_reason: 'stop_sequence',
  };
  return { ...choice, ...own, finish_reason: finish };
}

/**
 * The reason as clients know it; null while the answer goes on. vLLM says of a streamed call that its token limit cut off
 * that it is complete, after which agents would run it or ask the same again (vllm-project/vllm#53269). Agents that go by
 * the reason ask without end after calls of which there are none (vllm-project/vllm#53255, Kilo-Org/kilocode#7773), and stop
 * at a call that is said to be the end (BerriAI/litellm#35663).
 */
function finishAfter(reason: unknown, { order }: Choice): string | null {
  const end = endOf(reason);
  if (end !== null && order?.isCut() === true) return 'length';
  if (reason === 'function_call') return reason;
  if (end === 'tool_calls' || end === 'stop') return order === null ? 'stop' : 'tool_calls';
  return end;
}

const isBlank = (value: unknown): boolean =>
  isObject(value) ? Object.values(value).every(isBlank) : isAbsent(value) || value === '';

function repairedDelta(delta: Json, choice: Choice, isLast: boolean): Json | string {
  const { role, content, tool_calls: toolCalls } = delta;
  const calls = repairedCalls(callsIn(toolCalls), choice, isLast);
  if (typeof calls === 'string') return calls;
  const hasUsualText = role !== '' && typeof content !== 'number';
  if (hasUsualText && areSame(calls, listOf(toolCalls))) return delta;
  const { role: _role, tool_calls: _calls, ...others } = delta;
  return {
    ...(role === '' || role === undefined ? {} : { role }),
    ...others,
    ...(typeof content === 'number' ? { content: String(content) } : {}),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** A text if the answer is broken. */
function repairedCalls(given: readonly Json[], choice: Choice, isLast: boolean): Json[] | string {
  const calls: Json[] = [];
  for (const call of given) {
    choice.order ??= createCallOrder();
    const piece = choice.order.take(callPieceOf(call));
    if (typeof piece === 'string') return piece;
    if (piece !== null) calls.push(rightPiece(call, piece));
  }
  const missing = isLast ? (choice.order?.end() ?? []) : [];
  return typeof missing === 'string' ? missing : [...calls, ...missing.map(emptyArguments)];
}

function rightPiece(call: Json, { place, id, isFirst, text }: PlacedPiece): Json {
  const inner = isObject(call['function']) ? call['function'] : {};
  // Id and name come once, with the first piece; arguments as text.
  const isNamed = isFirst ? call['id'] === id : isAbsent(call['id']) && isAbsent(inner['name']);
  if (isNamed && call['index'] === place && (inner['arguments'] ?? '') === text) return call;
  const { id: _id, index: _index, type: _type, function: _function, ...others } = call;
  const { name, arguments: _arguments, ...more } = inner;
  return {
    index: place,
    ...(isFirst ? { id, type: 'function' } : {}),
    function: { ...(isFirst ? { name } : {}), ...more, arguments: text },
    ...others,
  };
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

export const areSame = (some: readonly unknown[], others: readonly unknown[]): boolean =>
  some.length === others.length && some.every((each, n) => each === others[n]);

/** Clients parse the arguments of a call, which `""` is not (vercel/ai#14968). */
const emptyArguments = (index: number): Json => ({ index, function: { arguments: '{}' } });

/** As `ChunkRepair`, for a whole answer; the same object if nothing was wrong with it, or if it is broken. */
export function repairedAnswer(answer: Json): Json {
  const choices = listOf(answer['choices']).map((choice) =>
    isObject(choice) ? repairedWhole(choice) : choice,
  );
  const right = { ...answer, choices };
  return choices.length === 0 || isDeepStrictEqual(right, answer) ? answer : right;
}

function repairedWhole(choice: Json): Json {
  const fixed = repairedChoice(choice, { order: null, isFinished: false });
  if (!isObject(fixed) || !isObject(fixed['delta'])) return choice;
  const { delta, message, ...others } = fixed;
  const calls = callsIn(delta['tool_calls']).map(({ index: _index, ...call }) => call);
  return {
    ...others,
    message: {
      ...delta,
      ...(memberOf(message, 'role') === '' && { role: 'assistant' }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  };
}

/**
 * What says in a stream what a whole message does, which some put into their only chunk: its calls have an index, no
 * further arguments will come, and two with one id are two, also where they say the same.
 */
export function deltaOf(message: unknown): Json | undefined {
  if (!isObject(message)) return undefined;
  const calls = callsIn(message['tool_calls']);
  if (calls.length === 0) return message;
  const ids = new Set<string>();
  const tool_calls = calls.map((call, index) => {
    const { id, arguments: json } = callPieceOf(call);
    const isUsed = ids.has(id);
    ids.add(id);
    const args = { arguments: json.trim() === '' ? '{}' : json };
    const inner = isObject(call['function']) ? call['function'] : {};
    return { ...call, index, ...(isUsed && { id: '' }), function: { ...inner, ...args } };
  });
  return { ...message, tool_calls };
}
