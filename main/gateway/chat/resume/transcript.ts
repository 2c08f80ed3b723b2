import { setImmediate } from 'node:timers/promises';
import { isObject, listOf, memberOf, parseJson } from '../../../platform/json.ts';
import { callPieceOf } from '../../protocols/chat/calls.ts';
import { endOf } from '../../protocols/chat/content.ts';
import { errorIn } from '../../protocols/upstream-error.ts';
import {
  type BegunBlocks,
  createMessageChunks,
  type MessageChunks,
} from '../../protocols/messages/chunks.ts';
import { createFramer, dataOf, eventsOf } from '../../protocols/sse.ts';

export interface Transcript {
  readonly kind: 'transcript';
  /** Identity fields, which all later chunks must repeat. */
  readonly head: Readonly<Record<string, unknown>>;
  readonly content: string;
  /** The text of the first event with any. */
  readonly firstContent: string;
  readonly reasoning: string;
  readonly calls: readonly SentCall[];
  /** What it was at when it broke off. */
  readonly at: 'reasoning' | 'text' | 'calls';
  readonly hasRole: boolean;
  readonly tokens: SentTokens;
  /** What the stream itself has told of its prompt; null for nothing. */
  readonly prompt: ToldPrompt | null;
  /** Of an answer that began as a message of the Messages API; null for others. */
  readonly blocks: BegunBlocks | null;
}

export interface SentCall {
  /** Null if it came without one, in one piece. */
  readonly index: number | string | null;
  readonly name: string;
  readonly arguments: string;
}

export interface ToldPrompt {
  readonly tokens: number;
  readonly cached: number;
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
    /** No text or call was sent. */
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

interface DraftCall extends SentCall {
  arguments: string;
}

interface Draft {
  head: Record<string, unknown> | null;
  content: string;
  firstContent: string;
  reasoning: string;
  /** By index; one without is its own key. */
  readonly calls: Map<unknown, DraftCall>;
  at: Transcript['at'];
  hasRole: boolean;
  contentEvents: number;
  reasoningEvents: number;
  /** Number of last events with white space only. */
  blankEvents: number;
  prompt: ToldPrompt | null;
  readonly message: MessageChunks;
}

/**
 * The two tags around a thought and the line break behind each, as Qwen3 writes them and llama.cpp keeps them to itself.
 * Others have fewer, but one too few would exceed the caller's limit.
 */
const THOUGHT_TAGS = 4;

/**
 * Reads the events that were sent, by the first upstream and by those that resumed: chunks of a chat completion, or the
 * events of a message.
 */
export function readTranscript(sent: readonly Buffer[]): Transcript | NotResumable {
  const reading = readParts(sent);
  for (;;) {
    const part = reading.next();
    if (part.done === true) return part.value;
  }
}

/** As `readTranscript`, giving way to the event loop after each part. */
export async function readTranscriptInTurns(
  sent: readonly Buffer[],
): Promise<Transcript | NotResumable> {
  const reading = readParts(sent);
  for (;;) {
    const part = reading.next();
    if (part.done === true) return part.value;
    await setImmediate();
  }
}

/** Small events of this size take about 10 ms. */
const PART_BYTES = 128 * 1024;

function* readParts(sent: readonly Buffer[]): Generator<void, Transcript | NotResumable> {
  const framer = createFramer();
  const frames = framer.push(Buffer.concat(sent));
  if (framer.pendingBytes > 0) return notResumable('unreadable');
  const draft: Draft = {
    head: null,
    content: '',
    firstContent: '',
    reasoning: '',
    calls: new Map(),
    at: 'text',
    hasRole: false,
    contentEvents: 0,
    reasoningEvents: 0,
    blankEvents: 0,
    prompt: null,
    message: createMessageChunks(),
  };
  let bytes = 0;
  for (const event of frames === null ? [] : eventsOf(frames)) {
    bytes += event.length;
    if (bytes > PART_BYTES) {
      yield;
      bytes = event.length;
    }
    const obstacle = addEvent(draft, event);
    if (obstacle !== null) return notResumable(obstacle);
  }
  return transcriptOf(draft);
}

function transcriptOf(draft: Draft): Transcript | NotResumable {
  const { head, content, firstContent, reasoning, at, hasRole, prompt, message } = draft;
  const calls = [...draft.calls.values()];
  const isEmpty = content === '' && reasoning === '' && calls.length === 0;
  if (head === null || isEmpty) return notResumable('nothing');
  const isOpen = at === 'reasoning' && content === '';
  const tags = isOpen ? THOUGHT_TAGS / 2 : THOUGHT_TAGS;
  const tokens = {
    content: draft.contentEvents,
    reasoning: reasoning === '' ? 0 : draft.reasoningEvents + tags,
  };
  const said = { content, firstContent, reasoning, calls, at, hasRole, tokens };
  return { kind: 'transcript', head, ...said, prompt, blocks: message.blocks() };
}

export function withoutIdentity(chunk: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(chunk).filter(([key]) => !IDENTITY_FIELDS.includes(key)),
  );
}

function identityOf(chunk: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(chunk).filter(([key]) => IDENTITY_FIELDS.includes(key)));
}

function notResumable(reason: Obstacle): NotResumable {
  return { kind: 'not_resumable', reason };
}

function addEvent(draft: Draft, event: Buffer): Obstacle | null {
  const data = dataOf(event)?.trim() ?? '';
  if (data === '') return null;
  if (data === '[DONE]') return 'finished';
  const value = parseJson(data);
  if (!isObject(value) || errorIn(value) !== null) return 'unreadable';
  const chunk = typeof value['type'] === 'string' ? draft.message.read(value) : value;
  if (chunk === 'end') return 'finished';
  return chunk === null ? null : addChunk(draft, chunk);
}

function addChunk(draft: Draft, chunk: Readonly<Record<string, unknown>>): Obstacle | null {
  const { choices, usage } = chunk;
  draft.prompt ??= promptOf(usage);
  if (!Array.isArray(choices) || choices.length === 0) return null;
  if (choices.length > 1) return 'several_choices';
  // Not before: Azure begins with a chunk without choices, and with an empty id.
  draft.head ??= identityOf(chunk);
  const [choice] = choices as readonly unknown[];
  return isObject(choice) ? addChoice(draft, choice) : 'unreadable';
}

function promptOf(usage: unknown): ToldPrompt | null {
  const tokens = memberOf(usage, 'prompt_tokens');
  const cached = memberOf(usage, 'prompt_tokens_details', 'cached_tokens');
  if (typeof tokens !== 'number' || tokens === 0) return null;
  return { tokens, cached: typeof cached === 'number' ? cached : 0 };
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
  for (const piece of callsOf(delta)) addCall(draft, piece);
  if (draft.content === '') draft.firstContent = content;
  draft.content += content;
  draft.reasoning += reasoning;
  return null;
}

function addCall(draft: Draft, piece: Delta): void {
  draft.at = 'calls';
  const { index, name, arguments: json } = callPieceOf(piece);
  const known = draft.calls.get(index ?? piece);
  if (known === undefined) draft.calls.set(index ?? piece, { index, name, arguments: json });
  else known.arguments += json;
}

/** The `delta` of a chunk's choice. */
export type Delta = Readonly<Record<string, unknown>>;

/** Content of a delta that is neither text nor a call of a tool, and cannot be resumed from its middle. */
type BeyondText = 'function_call' | 'refusal' | 'audio' | 'content_parts';

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

export function callsOf(delta: Delta): readonly Delta[] {
  return listOf(delta['tool_calls']).filter((piece) => isObject(piece));
}

/** Null if a delta has text and calls only. */
export function beyondText(delta: Delta): BeyondText | null {
  const { function_call: call, refusal, audio, content } = delta;
  if (isObject(call)) return 'function_call';
  if (typeof refusal === 'string' && refusal !== '') return 'refusal';
  if (isObject(audio)) return 'audio';
  return Array.isArray(content) && content.length > 0 ? 'content_parts' : null;
}

interface Kept {
  readonly content: string;
  readonly reasoning: string;
  readonly calls: readonly Delta[];
  readonly isRoleNew: boolean;
}

/** A delta with only those texts, calls and role, and its other fields. Null if it is empty. */
export function keptOf(delta: Delta, kept: Kept): Delta | null {
  const { role, content: _, tool_calls, reasoning_details, ...others } = delta;
  const hasReasoning = kept.reasoning !== '';
  const thoughts = REASONING.filter((name) => typeof delta[name] === 'string');
  const fields = {
    ...others,
    role: kept.isRoleNew ? role : undefined,
    content: kept.content === '' ? undefined : kept.content,
    ...Object.fromEntries(thoughts.map((name) => [name, kept.reasoning || undefined])),
    reasoning_details: hasReasoning ? reasoning_details : undefined,
    tool_calls: tool_calls === undefined ? undefined : kept.calls,
  };
  return Object.values(fields).every(isBlank) ? null : fields;
}

function isBlank(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return Array.isArray(value) && value.length === 0;
}
