import { isObject } from '../../../platform/json.ts';
import type { ChatRequest } from '../../protocols/chat-request.ts';
import {
  bodyOf,
  type JsonBody,
  memberAt,
  smallValueOf,
  smallValuesOf,
  withMembers,
  type Span,
} from '../../protocols/json-edit.ts';
import type { Continuing } from '../../upstream/upstreams.ts';
import type { Transcript } from './transcript.ts';

/** A request to continue the partial answer. */
interface ContinuedBody {
  readonly body: JsonBody;
  /** What is continued. */
  readonly part: 'text' | 'thought';
  /** The partial answer in the request, as an upstream that echoes would repeat it. */
  readonly partial: string;
  /** White space sent after it, with which the continuation begins. */
  readonly blanks: string;
  /** How many of the tokens that were sent are in the request. */
  readonly heldTokens: number;
}

export interface ContinuedPlan {
  readonly continuing: Omit<Continuing, 'echo'>;
  readonly transcript: Pick<Transcript, 'at' | 'content' | 'firstContent' | 'reasoning' | 'tokens'>;
}

/** Fields of llama.cpp, SGLang and vLLM that constrain the text. */
const CONSTRAINT =
  /^(grammar|json_schema|regex|ebnf|structural_tag|structured_outputs|guided_(json|regex|choice|grammar))$/;

const TOKEN_LIMITS = ['max_tokens', 'max_completion_tokens'];

/** A shorter prefill of the caller may equal the first piece of an answer by chance. */
const MIN_OWN_CHARS = 16;

/**
 * The bytes of a chat completion with the partial answer as last message, the flags and the token limits changed; null if
 * the answer cannot be continued.
 */
export function continuedBody(request: ChatRequest, plan: ContinuedPlan): ContinuedBody | null {
  const { continuing, transcript } = plan;
  // A grammar starts at the first new token: the engine would begin the object again.
  if (request.choices > 1 || isConstrained(request)) return null;
  const messages = memberAt(request, 'messages');
  const last = messages?.last ?? null;
  const own = last === null ? undefined : ownPrefill(request.bytes.subarray(last.start, last.end));
  if (messages === undefined || last === null || own === undefined) return null;

  const begun = begunOf(own, request, plan);
  if (begun === null) return null;
  const { thought, ...continuation } = begun;
  const { tokens } = transcript;
  const fields = partialFields(continuing.prefill, begun);
  const values: Record<string, string | Buffer> = {
    messages: withPartial(request.bytes, { messages, last }, { fields, isOwn: own !== null }),
    ...tokenLimits(request, tokens.content + tokens.reasoning),
    ...(continuing.prefill === 'continue_final_message' && CONTINUE_FLAGS),
  };
  // With it vLLM and llama.cpp repeat the last message, which the caller has already.
  if (memberAt(request, 'echo') !== undefined) values['echo'] = 'false';
  const heldTokens = tokens.content + (thought === '' ? 0 : tokens.reasoning);
  return { body: withMembers(request, values), ...continuation, heldTokens };
}

type Begun = Pick<ContinuedBody, 'part' | 'partial' | 'blanks'> & { readonly thought: string };

/** Null for what no engine continues. */
function begunOf(
  own: string | null,
  request: ChatRequest,
  { continuing, transcript }: ContinuedPlan,
): Begun | null {
  const { at, content, reasoning } = transcript;
  // JSON can express half of a surrogate pair, but no tokenizer accepts it.
  if (!(at === 'reasoning' ? reasoning : content).isWellFormed()) return null;
  if (at === 'reasoning') {
    // A beginning of the caller's own would have to come behind it.
    if (own !== null || content !== '' || !continuing.continuesThought) return null;
    const thought = withoutBlanks(reasoning);
    return { part: 'thought', ...thought, thought: thought.partial };
  }
  // Templates break the line behind it.
  const thought = continuing.takesThought ? reasoning.trimEnd() : '';
  return { part: 'text', ...withoutBlanks(joined(own ?? '', request, transcript)), thought };
}

const CONTINUE_FLAGS = { continue_final_message: 'true', add_generation_prompt: 'false' };

function isConstrained(body: JsonBody): boolean {
  const format = smallValueOf(body, 'response_format');
  if (typeof format === 'symbol' || (isObject(format) && format['type'] !== 'text')) return true;
  return body.members.some(
    ({ key, start, end }) =>
      CONSTRAINT.test(key) &&
      body.bytes.toString('latin1', start, Math.min(end, start + 5)) !== 'null',
  );
}

/** Longer messages are not parsed: that would block the event loop. */
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

/** The caller's own prefill; null without one, undefined if it cannot be extended. */
function ownPrefill(message: Buffer): string | null | undefined {
  if (message.length > MAX_MESSAGE_BYTES) return undefined;
  const body = bodyOf(message);
  if (body.members.length === 0) return undefined;
  if (smallValueOf(body, 'role') !== 'assistant') return null;
  const hasCalls = (memberAt(body, 'tool_calls')?.last ?? null) !== null;
  const text = smallValueOf(body, 'content');
  return typeof text === 'string' && !hasCalls ? text : undefined;
}

/** Without `own` where the upstream has echoed it: on request, or as its first piece. */
function joined(
  own: string,
  body: JsonBody,
  { content, firstContent }: ContinuedPlan['transcript'],
): string {
  const isEchoAsked = smallValueOf(body, 'echo') === true;
  const isOnePiece = own.length >= MIN_OWN_CHARS && firstContent === own;
  const wasEchoed = isOnePiece || (isEchoAsked && content.startsWith(own));
  return wasEchoed ? content : own + content;
}

/**
 * Chat templates trim a message's end (Llama 3's does, and transformers then continues from there; Mistral's
 * service too), and a tokenizer reads a blank alone differently from one before a word. So the partial answer
 * is sent without its last blanks, and upstreams generate them again.
 */
function withoutBlanks(text: string): { readonly partial: string; readonly blanks: string } {
  const partial = text.trimEnd();
  return partial === ''
    ? { partial: text, blanks: '' }
    : { partial, blanks: text.slice(partial.length) };
}

/** Of the message that is to be continued, as JSON. Without its thought, a model's text may take another course. */
function partialFields(prefill: Continuing['prefill'], { part, partial, thought }: Begun) {
  return {
    content: JSON.stringify(part === 'text' ? partial : ''),
    ...(thought !== '' && { reasoning_content: JSON.stringify(thought) }),
    ...(prefill === 'prefix' && { prefix: 'true' }),
  };
}

const ASSISTANT = Buffer.from('{"role":"assistant"}');

/** The `messages` with the partial answer, of these fields, as their last: the caller's own prefill grown, or one more. */
function withPartial(
  bytes: Buffer,
  { messages, last }: { readonly messages: Span; readonly last: Span },
  { fields, isOwn }: { readonly fields: Readonly<Record<string, string>>; readonly isOwn: boolean },
): Buffer {
  const message = isOwn ? bytes.subarray(last.start, last.end) : ASSISTANT;
  return Buffer.concat([
    bytes.subarray(messages.start, isOwn ? last.start : last.end),
    Buffer.from(isOwn ? '' : ','),
    withMembers(bodyOf(message), fields).bytes,
    bytes.subarray(last.end, messages.end),
  ]);
}

/** Sent tokens count towards the caller's limit; at least one must be left to request. */
function tokenLimits(body: JsonBody, sentTokens: number): Record<string, string> {
  const limits = TOKEN_LIMITS.flatMap((field) => {
    const limit = smallValueOf(body, field);
    return typeof limit === 'number' ? [[field, `${Math.max(1, limit - sentTokens)}`]] : [];
  });
  return Object.fromEntries(limits) as Record<string, string>;
}

/** Whether the same request should give the same text again: temperature 0, or a seed. */
export function isDeterministic(body: JsonBody): boolean {
  const [temperature, seed] = smallValuesOf(body, ['temperature', 'seed']);
  return temperature === 0 || typeof seed === 'number';
}
