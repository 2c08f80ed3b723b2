import { setImmediate } from 'node:timers/promises';
import { isObject, listOf, parseJson } from '../../../platform/json.ts';
import { endOf } from '../../protocols/chat/content.ts';
import { errorIn } from '../../protocols/upstream-error.ts';
import {
  type BegunBlocks,
  type BegunMessage,
  createBegunMessage,
} from '../../protocols/messages/events.ts';
import { createFramer, dataOf, eventsOf } from '../../protocols/sse.ts';

export interface Transcript {
  readonly kind: 'transcript';
  /** Identity fields, which all later chunks must repeat. */
  readonly head: Readonly<Record<string, unknown>>;
  readonly content: string;
  /** The text of the first event with any. */
  readonly firstContent: string;
  readonly reasoning: string;
  /** What it was at when it broke off. */
  readonly at: 'reasoning' | 'text';
  readonly hasRole: boolean;
  readonly tokens: SentTokens;
  /** Of an answer that began as a message of the Messages API; null for others. */
  readonly blocks: BegunBlocks | null;
}

/**
 * An estimate, as engines send about one token an event. Blank ones at the end are not counted, as they are generated
 * again.
 */
interface SentTokens {
  readonly content: number;
  /** With its tags, which are no events. */
  readonly reasoning: number;
}

interface NotResumable {
  readonly kind: 'not_resumable';
  readonly reason:
    | BeyondText
    /** No text was sent. */
    | 'nothing'
    | 'unreadable'
    | 'several_choices'
    | 'finished';
}

type Obstacle = NotResumable['reason'];

/**
 * Fields that are the same in all chunks of an answer. Others (`timings`, `obfuscation`) are about one
 * chunk and must not be repeated in the next.
 */
const IDENTITY_FIELDS = [
  'id',
  'object',
  'created',
  'model',
  'system_fingerprint',
  'service_tier',
  'provider',
];

interface Draft {
  head: Record<string, unknown> | null;
  content: string;
  firstContent: string;
  reasoning: string;
  at: Transcript['at'];
  hasRole: boolean;
  contentEvents: number;
  reasoningEvents: number;
  /** Number of last events with white space only. */
  blankEvents: number;
  readonly message: BegunMessage;
}

/**
 * The two tags around a thought and the line break behind each, as Qwen3 writes them and llama.cpp keeps them to itself.
 * Others have fewer, but one too few would exceed the caller's limit.
 */
const THOUGHT_TAGS = 4;

/** Small events of this size take about 10 ms. */
const BYTES_AT_ONCE = 128 * 1024;

/**
 * Reads the events that were sent, by the first upstream and by those that resumed: chunks of a chat completion, or the
 * events of a message. Gives way to the event loop.
 */
export async function readTranscript(sent: readonly Buffer[]): Promise<Transcript | NotResumable> {
  const framer = createFramer();
  const frames = framer.push(Buffer.concat(sent));
  if (framer.pendingBytes > 0) return { kind: 'not_resumable', reason: 'unreadable' };
  const draft: Draft = {
    head: null,
    content: '',
    firstContent: '',
    reasoning: '',
    at: 'text',
    hasRole: false,
    contentEvents: 0,
    reasoningEvents: 0,
    blankEvents: 0,
    message: createBegunMessage(),
  };
  let bytes = 0;
  for (const event of frames === null ? [] : eventsOf(frames)) {
    bytes += event.length;
    if (bytes > BYTES_AT_ONCE) {
      await setImmediate();
      bytes = event.length;
    }
    const reason = addEvent(draft, event);
    if (reason !== null) return { kind: 'not_resumable', reason };
  }
  return transcriptOf(draft);
}

function transcriptOf(draft: Draft): Transcript | NotResumable {
  const { head, content, firstContent, reasoning, at, hasRole, message } = draft;
  if (head === null || content + reasoning === '')
    return { kind: 'not_resumable', reason: 'nothing' };
  const isOpen = at === 'reasoning' && content === '';
  const tags = isOpen ? THOUGHT_TAGS / 2 : THOUGHT_TAGS;
  const tokens = {
    content: draft.contentEvents,
    reasoning: reasoning === '' ? 0 : draft.reasoningEvents + tags,
  };
  const blocks = message.blocks();
  return {
    kind: 'transcript',
    head,
    content,
    firstContent,
    reasoning,
    at,
    hasRole,
    tokens,
    blocks,
  };
}

export function withoutIdentity(chunk: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(chunk).filter(([key]) => !IDENTITY_FIELDS.includes(key)),
  );
}

function identityOf(chunk: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(chunk).filter(([key]) => IDENTITY_FIELDS.includes(key)));
}

function addEvent(draft: Draft, event: Buffer): Obstacle | null {
  const data = dataOf(event)?.trim() ?? '';
  if (data === '') return null;
  if (data === '[DONE]') return 'finished';
  const value = parseJson(data);
  if (!isObject(value) || errorIn(value) !== null) return 'unreadable';
  if (typeof value['type'] !== 'string') return addChunk(draft, value);
  const delta = draft.message.read(value);
  if (delta === 'end') return 'finished';
  draft.head ??= {};
  return delta === null ? null : addDelta(draft, delta);
}

function addChunk(draft: Draft, chunk: Readonly<Record<string, unknown>>): Obstacle | null {
  const { choices } = chunk;
  if (!Array.isArray(choices) || choices.length === 0) return null;
  if (choices.length > 1) return 'several_choices';
  // Not before: Azure begins with a chunk without choices, and with an empty id.
  draft.head ??= identityOf(chunk);
  const [choice] = choices as readonly unknown[];
  return isObject(choice) ? addChoice(draft, choice) : 'unreadable';
}

function addChoice(draft: Draft, choice: Readonly<Record<string, unknown>>): Obstacle | null {
  const { index, finish_reason: finishReason, delta } = choice;
  if (typeof index === 'number' && index !== 0) return 'several_choices';
  if (endOf(finishReason) !== null) return 'finished';
  return isObject(delta) ? addDelta(draft, delta) : null;
}

function addDelta(draft: Draft, delta: Delta): Obstacle | null {
  const beyond = beyondText(delta);
  if (beyond !== null) return beyond;
  const content = contentOf(delta);
  const reasoning = reasoningOf(delta);
  if (typeof delta['role'] === 'string') draft.hasRole = true;
  if (content !== '' || reasoning !== '') {
    draft.blankEvents += 1;
    draft.at = content === '' ? 'reasoning' : 'text';
  }
  if ((content + reasoning).trim() !== '') {
    if (draft.at === 'reasoning') draft.reasoningEvents += draft.blankEvents;
    else draft.contentEvents += draft.blankEvents;
    draft.blankEvents = 0;
  }
  if (draft.content === '') draft.firstContent = content;
  draft.content += content;
  draft.reasoning += reasoning;
  return null;
}

/** The `delta` of a chunk's choice. */
export type Delta = Readonly<Record<string, unknown>>;

/** Content of a delta that is no text, and cannot be resumed from its middle. */
type BeyondText = 'tool_calls' | 'function_call' | 'refusal' | 'audio' | 'content_parts';

/** The text of a delta; empty without one. */
export function contentOf(delta: Delta): string {
  const { content } = delta;
  return typeof content === 'string' ? content : '';
}

const REASONING = ['reasoning_content', 'reasoning', 'reasoning_text'];

/** The reasoning of a delta; engines that know both names give the same text under each. */
export function reasoningOf(delta: Delta): string {
  const told = REASONING.map((name) => delta[name]).find(
    (each) => typeof each === 'string' && each !== '',
  );
  return typeof told === 'string' ? told : '';
}

/** Null if a delta has text only. */
export function beyondText(delta: Delta): BeyondText | null {
  const { tool_calls: calls, function_call: call, refusal, audio, content } = delta;
  if (listOf(calls).length > 0) return 'tool_calls';
  if (isObject(call)) return 'function_call';
  if (typeof refusal === 'string' && refusal !== '') return 'refusal';
  if (isObject(audio)) return 'audio';
  return Array.isArray(content) && content.length > 0 ? 'content_parts' : null;
}

interface DeltaParts {
  readonly content: string;
  readonly reasoning: string;
  readonly isRoleNew: boolean;
}

/** A delta with only those texts and the role, and its other fields. Null if it is empty. */
export function keptOf(delta: Delta, kept: DeltaParts): Delta | null {
  const { role, content: _, reasoning_details, ...others } = delta;
  const thoughts = REASONING.filter((name) => typeof delta[name] === 'string');
  const fields = {
    ...others,
    role: kept.isRoleNew ? role : undefined,
    content: kept.content === '' ? undefined : kept.content,
    ...Object.fromEntries(thoughts.map((name) => [name, kept.reasoning || undefined])),
    reasoning_details: kept.reasoning === '' ? undefined : reasoning_details,
  };
  return Object.values(fields).every(isBlank) ? null : fields;
}

function isBlank(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return Array.isArray(value) && value.length === 0;
}
