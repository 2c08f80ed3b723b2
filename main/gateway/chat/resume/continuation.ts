import { isObject } from '#shared/objects.ts';
import type { ChatRequest } from '../../upstream/chat-request.ts';
import {
  isText,
  type Member,
  smallValueAt,
  smallValueOf,
  type Span,
  topLevelMembers,
  withMembers,
} from '../../upstream/json-members.ts';
import type { Prefill } from '../../upstream/upstreams.ts';
import type { Transcript } from './transcript.ts';

/** A request to go on from what was sent, or why this one cannot be asked so. */
type ContinuedBody =
  | {
      readonly kind: 'body';
      readonly bytes: Buffer;
      /** The text to go on from, as an upstream that echoes it would say it. */
      readonly asked: string;
      /** The blanks that were sent after it, with which the continuation begins. */
      readonly seam: string;
    }
  | { readonly kind: 'not_possible'; readonly reason: Impossible };

type Impossible =
  /** The caller's own last message is the assistant's, and is no plain text to add to. */
  | 'own_message'
  /** A grammar begins with the first new token: the engine would begin the object anew. */
  | 'constrained'
  | 'several_choices'
  /** Cut inside a character, which JSON can say and no tokenizer takes. */
  | 'half_character';

/** How an upstream is to be asked to go on. */
export interface ContinuedPlan {
  /** As for `bodyFor`: null leaves the caller's. */
  readonly model: string | null;
  readonly prefill: Exclude<Prefill, 'none'>;
  readonly transcript: Pick<Transcript, 'content' | 'contentEvents' | 'firstContent'>;
}

/** Fields by which llama.cpp, SGLang and vLLM constrain the text. */
const CONSTRAINT =
  /^(grammar|json_schema|regex|ebnf|structural_tag|structured_outputs|guided_(json|regex|choice|grammar))$/;

const TOKEN_LIMITS = ['max_tokens', 'max_completion_tokens'];

/** An own beginning that is shorter may be the first piece of an answer by chance. */
const MIN_OWN_CHARS = 16;

/** The caller's bytes but for the model, the begun answer as last message, the flags and the token limits. */
export function continuedBody(request: ChatRequest, plan: ContinuedPlan): ContinuedBody {
  const { model, prefill, transcript } = plan;
  const { bytes, members } = request;
  const messages = members.find(({ key }) => key === 'messages');
  const last = messages?.last ?? null;
  if (messages === undefined || last === null) return notPossible('own_message');
  if (request.choices > 1) return notPossible('several_choices');
  if (isConstrained(request)) return notPossible('constrained');
  if (!transcript.content.isWellFormed()) return notPossible('half_character');

  const own = ownBeginning(bytes.subarray(last.start, last.end));
  if (own === undefined) return notPossible('own_message');
  const isEchoAsked = smallValueOf(bytes, members, 'echo') === true;
  const { asked, seam } = withoutBlanks(joined(own ?? '', transcript, isEchoAsked));
  const values: Record<string, string> = {
    messages: withBegun(bytes, { messages, last }, { asked, isOwn: own !== null, prefill }),
    ...tokenLimits(request, transcript.contentEvents),
  };
  if (model !== null && model !== request.model) values['model'] = JSON.stringify(model);
  if (prefill === 'continue_final_message') {
    values['continue_final_message'] = 'true';
    values['add_generation_prompt'] = 'false';
  }
  // vLLM and llama.cpp repeat the last message to who asks for it; the caller has had that.
  if (members.some(({ key }) => key === 'echo')) values['echo'] = 'false';
  return { kind: 'body', bytes: withMembers(bytes, members, values), asked, seam };
}

function notPossible(reason: Impossible): ContinuedBody {
  return { kind: 'not_possible', reason };
}

type Body = Pick<ChatRequest, 'bytes' | 'members'>;

function isConstrained({ bytes, members }: Body): boolean {
  const format = smallValueOf(bytes, members, 'response_format') ?? null;
  const isFree =
    typeof format === 'symbol' ? false : !isObject(format) || format['type'] === 'text';
  return !isFree || members.some((member) => isConstraint(bytes, member));
}

function isConstraint(bytes: Buffer, { key, start, end }: Member): boolean {
  return (
    CONSTRAINT.test(key) && bytes.toString('latin1', start, Math.min(end, start + 5)) !== 'null'
  );
}

/** A last message longer than this is not looked into: it would hold up everybody else. */
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

/** The caller's own beginning of the answer; null without one, undefined where it cannot be added to. */
function ownBeginning(message: Buffer): string | null | undefined {
  if (message.length > MAX_MESSAGE_BYTES) return undefined;
  const members = topLevelMembers(message);
  if (members.length === 0) return undefined;
  if (smallValueOf(message, members, 'role') !== 'assistant') return null;
  // The last of two of the same name, as `JSON.parse` would have it.
  const content = members.findLast(({ key }) => key === 'content');
  const hasCalls = members.some(({ key, last }) => key === 'tool_calls' && last !== null);
  if (content === undefined || hasCalls || !isText(message, content)) return undefined;
  const text = smallValueAt(message, content);
  return typeof text === 'string' ? text : undefined;
}

/** An upstream that echoed the caller's beginning has sent it already: as it was asked to, or in one piece. */
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
 * Chat templates trim a message's end (Llama 3's does, and transformers then goes on from there; Mistral's
 * service too), and a blank is read otherwise alone than as part of the next word. So everybody is asked to go
 * on from before the blanks, and says them again.
 */
function withoutBlanks(text: string): { readonly asked: string; readonly seam: string } {
  const asked = text.trimEnd();
  return asked === '' ? { asked: text, seam: '' } : { asked, seam: text.slice(asked.length) };
}

/** The `messages` with the begun answer as their last. */
function withBegun(
  bytes: Buffer,
  { messages, last }: { readonly messages: Span; readonly last: Span },
  begun: { readonly asked: string; readonly isOwn: boolean; readonly prefill: Prefill },
): string {
  const prefix = begun.prefill === 'prefix' ? { prefix: 'true' } : {};
  const content = JSON.stringify(begun.asked);
  const before = (end: number) => bytes.toString('utf8', messages.start, end);
  const after = bytes.toString('utf8', last.end, messages.end);
  if (begun.isOwn) {
    const message = bytes.subarray(last.start, last.end);
    const values = { content, ...prefix };
    return before(last.start) + withMembers(message, topLevelMembers(message), values) + after;
  }
  const flag = begun.prefill === 'prefix' ? ',"prefix":true' : '';
  return `${before(last.end)},{"role":"assistant","content":${content}${flag}}${after}`;
}

/** What was sent counts towards the caller's limit; one token at least must be left to ask for. */
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
  const valueOf = (key: string) => smallValueOf(bytes, members, key);
  return valueOf('temperature') === 0 || typeof valueOf('seed') === 'number';
}
