import { setImmediate } from 'node:timers/promises';
import { isObject, listOf, parseJson } from '../../../platform/json.ts';
import { endOf } from '../../protocols/chat/chunks.ts';
import { errorIn } from '../../protocols/upstream-error.ts';
import { type BegunBlocks, createBegunMessage } from '../../protocols/messages/events.ts';
import { Framer, dataOf, eventsOf } from '../../protocols/sse.ts';

export interface Transcript {
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

/**
 * The two tags around a thought and the line break behind each, as Qwen3 writes them and llama.cpp keeps them to itself.
 * Others have fewer, but one too few would exceed the caller's limit.
 */
const THOUGHT_TAGS = 4;

/** Small events of this size take about 10 ms. */
const BYTES_AT_ONCE = 128 * 1024;

/**
 * Reads the events that were sent, by the first upstream and by those that resumed: chunks of a chat completion, or the
 * events of a message. Gives way to the event loop. Null if what they tell cannot be continued.
 */
export async function readTranscript(sent: readonly Buffer[]): Promise<Transcript | null> {
  const framer = new Framer();
  const frames = framer.push(Buffer.concat(sent));
  if (framer.pendingBytes > 0) return null;
  const draft = createDraft();
  let bytes = 0;
  for (const event of frames === null ? [] : eventsOf(frames)) {
    bytes += event.length;
    if (bytes > BYTES_AT_ONCE) {
      await setImmediate();
      bytes = event.length;
    }
    if (!draft.add(event)) return null;
  }
  return draft.transcript();
}

/** What was read of the events so far. False: it cannot be continued behind the one that is added. */
function createDraft() {
  let head: Record<string, unknown> | null = null;
  let [content, firstContent, reasoning] = ['', '', ''];
  let at: Transcript['at'] = 'text';
  let hasRole = false;
  const textEvents = { text: 0, reasoning: 0 };
  /** Number of last events with white space only. */
  let blankEvents = 0;
  const message = createBegunMessage();

  function addDelta(delta: Delta): boolean {
    if (isBeyondText(delta)) return false;
    const [text, thought] = [contentOf(delta), reasoningOf(delta)];
    if (typeof delta['role'] === 'string') hasRole = true;
    if (text !== '' || thought !== '') {
      blankEvents += 1;
      at = text === '' ? 'reasoning' : 'text';
    }
    if ((text + thought).trim() !== '') {
      textEvents[at] += blankEvents;
      blankEvents = 0;
    }
    if (content === '') firstContent = text;
    content += text;
    reasoning += thought;
    return true;
  }

  function addChunk(chunk: Readonly<Record<string, unknown>>): boolean {
    const [choice, second] = listOf(chunk['choices']);
    if (choice === undefined) return true;
    // Not before: Azure begins with a chunk without choices, and with an empty id.
    head ??= identityOf(chunk);
    if (!isObject(choice) || second !== undefined) return false;
    const { index, finish_reason: finishReason, delta } = choice;
    if ((index ?? 0) !== 0 || endOf(finishReason) !== null) return false;
    return !isObject(delta) || addDelta(delta);
  }

  return {
    add(event: Buffer): boolean {
      const data = dataOf(event)?.trim() ?? '';
      if (data === '') return true;
      const value = data === '[DONE]' ? null : parseJson(data);
      if (!isObject(value) || errorIn(value) !== null) return false;
      if (typeof value['type'] !== 'string') return addChunk(value);
      const delta = message.read(value);
      head ??= {};
      return delta !== 'end' && (delta === null || addDelta(delta));
    },
    transcript(): Transcript | null {
      if (head === null || content + reasoning === '') return null;
      const isOpen = at === 'reasoning' && content === '';
      const tags = isOpen ? THOUGHT_TAGS / 2 : THOUGHT_TAGS;
      const tokens = {
        content: textEvents.text,
        reasoning: reasoning === '' ? 0 : textEvents.reasoning + tags,
      };
      const blocks = message.blocks();
      return { head, content, firstContent, reasoning, at, hasRole, tokens, blocks };
    },
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

/** The `delta` of a chunk's choice. */
export type Delta = Readonly<Record<string, unknown>>;

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

/** Whether a delta has content that is no text, and cannot be resumed from its middle. */
export function isBeyondText(delta: Delta): boolean {
  const { tool_calls: calls, function_call: call, refusal, audio } = delta;
  return (
    listOf(calls).length > 0 ||
    isObject(call) ||
    (typeof refusal === 'string' && refusal !== '') ||
    isObject(audio) ||
    hasParts(delta)
  );
}

/** Whether the text comes as a list of parts. */
export const hasParts = ({ content }: Delta): boolean => listOf(content).length > 0;

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
