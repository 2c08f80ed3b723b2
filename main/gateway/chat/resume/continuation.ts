import { isObject, memberOf } from '../../../platform/json.ts';
import type { ChatRequest } from '../../protocols/chat-request.ts';
import {
  isText,
  type Member,
  smallValueAt,
  smallValueOf,
  smallValuesOf,
  type Span,
  topLevelMembers,
  withMembers,
} from '../../protocols/json-members.ts';
import type { Continuing } from '../../upstream/upstreams.ts';
import type { Transcript } from './transcript.ts';

/** A request to continue the partial answer, or why there can be none. */
type ContinuedBody =
  | {
      readonly kind: 'body';
      readonly bytes: Buffer;
      /** What is continued. */
      readonly part: 'text' | 'thought';
      /** The partial answer in the request, as an upstream that echoes would repeat it. */
      readonly partial: string;
      /** White space sent after it, with which the continuation begins. */
      readonly blanks: string;
      /** How many of the tokens that were sent are in the request. */
      readonly heldTokens: number;
    }
  | { readonly kind: 'not_possible'; readonly reason: Impossible };

type Impossible =
  /** The caller's last message is the assistant's, and not plain text that could be extended. */
  | 'own_message'
  /** A grammar starts at the first new token: the engine would begin the object again. */
  | 'constrained'
  /** Anthropic continues no message with thinking (platform.claude.com, Extended thinking). */
  | 'thinking'
  | 'several_choices'
  /** A call was sent; or it broke off in a thought, and the engine continues none, or it came after some text. */
  | 'no_text'
  /** It broke off inside a surrogate pair, which JSON can express but no tokenizer accepts. */
  | 'half_character';

type SentParts = Pick<
  Transcript,
  'at' | 'calls' | 'content' | 'firstContent' | 'reasoning' | 'tokens'
>;

export interface ContinuedPlan {
  /** As for `bodyFor`: null leaves the caller's. */
  readonly model: string | null;
  readonly continuing: Omit<Continuing, 'echo'>;
  readonly transcript: SentParts;
}

/** Fields of llama.cpp, SGLang and vLLM that constrain the text. */
const CONSTRAINT =
  /^(grammar|json_schema|regex|ebnf|structural_tag|structured_outputs|guided_(json|regex|choice|grammar))$/;

const TOKEN_LIMITS = ['max_tokens', 'max_completion_tokens'];

/** A shorter prefill of the caller may equal the first piece of an answer by chance. */
const MIN_OWN_CHARS = 16;

/** The caller's bytes with the model, the partial answer as last message, the flags and the token limits changed. */
export function continuedBody(request: ChatRequest, plan: ContinuedPlan): ContinuedBody {
  const { model, continuing, transcript } = plan;
  const { bytes, members } = request;
  const obstacle = obstacleTo(request, plan);
  if (obstacle !== null) return notPossible(obstacle);
  const messages = members.find(({ key }) => key === 'messages');
  const last = messages?.last ?? null;
  const own = last === null ? undefined : ownPrefill(bytes.subarray(last.start, last.end));
  if (messages === undefined || last === null || own === undefined)
    return notPossible('own_message');

  const begun =
    transcript.at === 'reasoning' ? begunThought(own, plan) : begunText(own, request, plan);
  if (begun === null) return notPossible('own_message');
  const { said, ...continuation } = begun;
  const { tokens } = transcript;
  const fields = isMessage(request)
    ? { content: messageContent(said) }
    : partialFields(continuing.prefill, said);
  const values: Record<string, string> = {
    messages: withPartial(bytes, { messages, last }, { fields, isOwn: own !== null }),
    ...tokenLimits(request, tokens.content + tokens.reasoning),
    ...flagsFor(continuing.prefill),
  };
  if (model !== null && model !== request.model) values['model'] = JSON.stringify(model);
  // With it vLLM and llama.cpp repeat the last message, which the caller has already.
  if (members.some(({ key }) => key === 'echo')) values['echo'] = 'false';
  const heldTokens = tokens.content + (said.thought === '' ? 0 : tokens.reasoning);
  return { kind: 'body', bytes: withMembers(bytes, members, values), ...continuation, heldTokens };
}

/** The last message: its text may be empty, and so may the thought before it. */
interface Said {
  readonly text: string;
  readonly thought: string;
}

interface Begun {
  readonly part: 'text' | 'thought';
  readonly partial: string;
  readonly blanks: string;
  readonly said: Said;
}

function begunText(own: string | null, request: ChatRequest, plan: ContinuedPlan): Begun {
  const { continuing, transcript } = plan;
  const isEchoAsked = smallValueOf(request.bytes, request.members, 'echo') === true;
  const begun = withoutBlanks(joined(own ?? '', transcript, isEchoAsked));
  // Templates break the line behind it.
  const thought = continuing.takesThought ? transcript.reasoning.trimEnd() : '';
  return { part: 'text', ...begun, said: { text: begun.partial, thought } };
}

/** Null behind a beginning of the caller's own, which the thought would have to come before. */
function begunThought(own: string | null, { transcript }: ContinuedPlan): Begun | null {
  if (own !== null) return null;
  const begun = withoutBlanks(transcript.reasoning);
  return { part: 'thought', ...begun, said: { text: '', thought: begun.partial } };
}

function notPossible(reason: Impossible): ContinuedBody {
  return { kind: 'not_possible', reason };
}

function obstacleTo(
  request: ChatRequest,
  { continuing, transcript }: ContinuedPlan,
): Impossible | null {
  if (request.choices > 1) return 'several_choices';
  if (isConstrained(request)) return 'constrained';
  if (isMessage(request) && isThinking(request) && !continuing.takesThought) return 'thinking';
  const { at, calls, content, reasoning } = transcript;
  const isThought = at === 'reasoning' && content === '' && continuing.continuesThought;
  if (calls.length > 0 || (at !== 'text' && !isThought)) return 'no_text';
  return (isThought ? reasoning : content).isWellFormed() ? null : 'half_character';
}

const isMessage = ({ endpoint }: ChatRequest) => endpoint.vendor === 'anthropic';

function flagsFor(prefill: Continuing['prefill']): Readonly<Record<string, string>> {
  if (prefill !== 'continue_final_message') return {};
  return { continue_final_message: 'true', add_generation_prompt: 'false' };
}

type Body = Pick<ChatRequest, 'bytes' | 'members'>;

function isConstrained({ bytes, members }: Body): boolean {
  const [format, output] = smallValuesOf(bytes, members, ['response_format', 'output_config']);
  const isFree =
    isFreeFormat(format) && typeof output !== 'symbol' && isFreeFormat(memberOf(output, 'format'));
  return !isFree || members.some((member) => isConstraint(bytes, member));
}

function isFreeFormat(format: unknown): boolean {
  return typeof format === 'symbol' ? false : !isObject(format) || format['type'] === 'text';
}

function isThinking({ bytes, members }: Body): boolean {
  const thinking = smallValueOf(bytes, members, 'thinking');
  return isObject(thinking) && thinking['type'] !== 'disabled';
}

function isConstraint(bytes: Buffer, { key, start, end }: Member): boolean {
  return (
    CONSTRAINT.test(key) && bytes.toString('latin1', start, Math.min(end, start + 5)) !== 'null'
  );
}

/** Longer messages are not parsed: that would block the event loop. */
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

/** The caller's own prefill; null without one, undefined if it cannot be extended. */
function ownPrefill(message: Buffer): string | null | undefined {
  if (message.length > MAX_MESSAGE_BYTES) return undefined;
  const members = topLevelMembers(message);
  if (members.length === 0) return undefined;
  if (smallValueOf(message, members, 'role') !== 'assistant') return null;
  // The last of duplicate keys, as in `JSON.parse`.
  const content = members.findLast(({ key }) => key === 'content');
  const hasCalls = members.some(({ key, last }) => key === 'tool_calls' && last !== null);
  if (content === undefined || hasCalls || !isText(message, content)) return undefined;
  const text = smallValueAt(message, content);
  return typeof text === 'string' ? text : undefined;
}

/** Without `own` where the upstream has echoed it: on request, or as its first piece. */
function joined(
  own: string,
  { content, firstContent }: ContinuedPlan['transcript'],
  isEchoAsked: boolean,
): string {
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

/** Fields of the message that is to be continued, as JSON. Without its thought, a model's text may take another course. */
function partialFields(
  prefill: Continuing['prefill'],
  { text, thought }: Said,
): Readonly<Record<string, string>> {
  return {
    content: JSON.stringify(text),
    ...(thought !== '' && { reasoning_content: JSON.stringify(thought) }),
    ...(prefill === 'prefix' && { prefix: 'true' }),
  };
}

/** The content of a message of the Messages API, as JSON. */
function messageContent({ text, thought }: Said): string {
  if (thought === '') return JSON.stringify(text);
  const thinking = { type: 'thinking', thinking: thought, signature: '' };
  return JSON.stringify(text === '' ? [thinking] : [thinking, { type: 'text', text }]);
}

/** The `messages` with the partial answer as their last. */
function withPartial(
  bytes: Buffer,
  { messages, last }: { readonly messages: Span; readonly last: Span },
  { fields, isOwn }: { readonly fields: Readonly<Record<string, string>>; readonly isOwn: boolean },
): string {
  const before = (end: number) => bytes.toString('utf8', messages.start, end);
  const after = bytes.toString('utf8', last.end, messages.end);
  if (isOwn) {
    const message = bytes.subarray(last.start, last.end);
    return before(last.start) + withMembers(message, topLevelMembers(message), fields) + after;
  }
  const members = Object.entries({ role: '"assistant"', ...fields });
  const message = members.map(([key, value]) => `"${key}":${value}`).join(',');
  return `${before(last.end)},{${message}}${after}`;
}

/** Sent tokens count towards the caller's limit; at least one must be left to request. */
function tokenLimits({ bytes, members }: Body, sentTokens: number): Record<string, string> {
  const limits = TOKEN_LIMITS.flatMap((field) => {
    const limit = smallValueOf(bytes, members, field);
    return typeof limit === 'number' ? [[field, limit] as const] : [];
  });
  return Object.fromEntries(
    limits.map(([field, limit]) => [field, String(Math.max(1, limit - sentTokens))]),
  );
}

/** Whether the same request should give the same text again: temperature 0, or a seed. */
export function isDeterministic({
  bytes,
  members,
}: Pick<ChatRequest, 'bytes' | 'members'>): boolean {
  const [temperature, seed] = smallValuesOf(bytes, members, ['temperature', 'seed']);
  return temperature === 0 || typeof seed === 'number';
}
