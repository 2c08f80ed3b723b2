import type { IncomingHttpHeaders } from 'node:http';
import { memberOf } from '../../platform/json.ts';
import { bodyOf, type JsonBody, type Member, smallValueOf } from './json-edit.ts';
import startXxHash, { type XXHashAPI } from 'xxhash-wasm';

/**
 * The prefixes of a prompt that end where a message does, as hashes: what an engine has of an earlier prompt in its
 * cache is the longest one that both have. Only hashes are kept, of the bytes as they came.
 */
export interface PromptChain {
  /**
   * Shortest first: of the model, the tools and the system prompt, then up to the end of each message, of a long
   * conversation the last ones.
   */
  readonly keys: readonly number[];
  readonly lengths: readonly number[];
  /** Of what the app calls the conversation, and of the first prefix; null if it does not say. */
  readonly session: number | null;
  /** Of the tools alone, which tells whether they or the system prompt has changed. */
  readonly tools: number;
  /**
   * Of the first two messages, each alone: they find the conversation if what stands before them has changed. None of a
   * text.
   */
  readonly anchors: readonly number[];
  readonly bytes: number;
  /** What the message behind the prefix at an index is; null if it is one of the first of a long conversation. */
  readonly behind: (at: number) => PromptPart | null;
  /** Whether the model has answered in it before. */
  readonly hasAnswer: () => boolean;
}

/** A message of a prompt, in the words of `READ_REASONS`. */
export interface PromptPart {
  /** The first one is 1. */
  readonly position: number;
  readonly kind: 'system' | 'reminder' | 'user' | 'assistant' | 'tool' | 'message';
}

export interface CachedPrefix {
  readonly chain: PromptChain;
  readonly bytes: number;
  /** It is more than a system prompt, which many conversations may begin with. */
  readonly isConversation: boolean;
  /** When the machine last read it, in clock ticks; null: never. */
  readonly readAt: number | null;
}

/** The share of a prompt that a machine has yet to read. */
export const unreadShare = (prefix: CachedPrefix | null): number =>
  prefix === null ? 1 : 1 - prefix.bytes / prefix.chain.bytes;

/**
 * What templates put before the first message, gpt-oss the effort, too; another model has another cache, and with vLLM
 * another salt (docs.vllm.ai, Automatic Prefix Caching).
 */
const HEAD: ReadonlySet<string> = new Set(
  'model cache_salt reasoning_effort tools functions system instructions'.split(' '),
);
const TOOLS: ReadonlySet<string> = new Set(['tools', 'functions']);
const MESSAGES: ReadonlySet<string> = new Set(['messages', 'input', 'prompt']);

/** Of a conversation; an edit further back finds the system prompt alone. */
const MAX_MESSAGES = 63;

/** Of a prompt that is one text, which has no messages. */
const TEXT_PIECE_BYTES = 4096;

/** Null for a body without a prompt, and for one that asks llama.cpp to read all of it. */
export function chainOf(body: JsonBody, headers: IncomingHttpHeaders): PromptChain | null {
  const { bytes, members } = body;
  const headOf = (hash: RollingHash, isIn: (key: string) => boolean) => {
    for (const { key, nameStart, end } of members) if (isIn(key)) hash.add(bytes, nameStart, end);
    return hash;
  };
  const messages = members.find(({ key }) => MESSAGES.has(key));
  if (messages === undefined || smallValueOf(body, 'cache_prompt') === false) return null;
  const name = sessionOf(body, headers);
  const hash = headOf(createRollingHash(), (key) => HEAD.has(key));
  const keys: number[] = [];
  const lengths: number[] = [];
  function link(): void {
    keys.push(hash.key());
    lengths.push(hash.length());
  }
  const ends = endsOf(messages);
  const startOf = (at: number) => ends[at - 1] ?? messages.start;
  const first = ends.findIndex((end, at) => !isSystemMessage(bytes, startOf(at), end));
  const begun = first === -1 ? ends.length : first;
  hash.add(bytes, messages.start, startOf(begun));
  link();
  const told = Math.max(begun, ends.length - MAX_MESSAGES);
  hash.add(bytes, startOf(begun), startOf(told));
  const addMessage = (to: RollingHash, at: number) => {
    const end = ends[at] ?? messages.end;
    const mark = at < ends.length - MARKED_MESSAGES ? null : cacheMark(bytes, startOf(at), end);
    to.add(bytes, startOf(at), mark?.start ?? end);
    if (mark !== null) to.add(bytes, mark.end, end);
    return to;
  };
  for (let at = told; at < ends.length; at += 1) {
    addMessage(hash, at);
    link();
  }
  const isText = messages.ends.length === 0;
  return {
    keys,
    lengths,
    session: name === null ? null : hashOfText(`${keys[0] ?? 0} ${name}`).key(),
    tools: headOf(createRollingHash(), (key) => TOOLS.has(key)).key(),
    anchors: [begun, begun + 1]
      .filter((at) => !isText && at < ends.length)
      .map((at) => addMessage(hashOfText(`${name ?? ''} `), at).key()),
    bytes: bytes.length,
    behind(at) {
      const index = told + at;
      const end = ends[index];
      if (isText || end === undefined || (at === 0 && told > begun)) return null;
      return { position: index + 1, kind: kindOf(bytes, startOf(index), end) };
    },
    hasAnswer: () => bytes.includes('"assistant"', messages.start),
  };
}

type RollingHash = ReturnType<typeof createRollingHash>;

function hashOfText(text: string): RollingHash {
  const hash = createRollingHash();
  const bytes = Buffer.from(text);
  hash.add(bytes, 0, bytes.length);
  return hash;
}

/** Where the messages end, or pieces of a text. */
function endsOf({ start, end, ends }: Member): readonly number[] {
  if (ends.length > 0) return ends;
  const pieces: number[] = [];
  for (let at = start + TEXT_PIECE_BYTES; at < end; at += TEXT_PIECE_BYTES) pieces.push(at);
  return [...pieces, end];
}

/** A role stands first or last in its message. */
const ROLE_BYTES = 64;
const ROLE = /"role"\s*:\s*"(\w+)"/;
/** Items of Responses that have no role. */
const ITEM =
  /"type"\s*:\s*"(function_call_output|custom_tool_call_output|function_call|reasoning)"/;

const KINDS: Readonly<Record<string, PromptPart['kind']>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  function_call: 'assistant',
  reasoning: 'assistant',
  tool: 'tool',
  function: 'tool',
  function_call_output: 'tool',
  custom_tool_call_output: 'tool',
};

/** Null if neither end of the message has it. */
function roleOf(bytes: Buffer, start: number, end: number, pattern = ROLE): string | null {
  const first = bytes.toString('latin1', start, Math.min(end, start + ROLE_BYTES));
  const last = bytes.toString('latin1', Math.max(start, end - ROLE_BYTES), end);
  return (pattern.exec(first) ?? pattern.exec(last))?.[1] ?? null;
}

function isSystemMessage(bytes: Buffer, start: number, end: number): boolean {
  return KINDS[roleOf(bytes, start, end) ?? ''] === 'system';
}

/** What Claude Code puts into messages of the user, and changes when it likes. */
const REMINDER = '<system-reminder>';

function kindOf(bytes: Buffer, start: number, end: number): PromptPart['kind'] {
  const role = roleOf(bytes, start, end) ?? roleOf(bytes, start, end, ITEM) ?? '';
  const kind = KINDS[role] ?? 'message';
  return kind === 'user' && bytes.subarray(start, end).includes(REMINDER) ? 'reminder' : kind;
}

/**
 * Claude Code marks its last two messages for Anthropic's cache, so the marks move on with each turn
 * (sgl-project/sglang#36877); templates do not show them to the model.
 */
const CACHE_MARK = /(?:,\s*)?"cache_control"\s*:\s*\{[^{}]*\}/;
const MARKED_MESSAGES = 4;
/** Before the end of its message, where the mark of its last block is. */
const MARK_BYTES = 256;

function cacheMark(bytes: Buffer, start: number, end: number) {
  const from = Math.max(start, end - MARK_BYTES);
  const found = CACHE_MARK.exec(bytes.toString('latin1', from, end));
  if (found === null) return null;
  return { start: from + found.index, end: from + found.index + found[0].length };
}

/** Headers by which apps name a conversation, the most certain first; Codex has written its own in two ways. */
const CLAUDE_CODE = 'x-claude-code-session-id';
const SESSION_HEADERS = [
  'session-id',
  'session_id',
  'x-session-id',
  'x-session-affinity',
  'x-opencode-session',
];
const OPEN_WEBUI = 'x-openwebui-chat-id';

/** What the app calls the conversation; null if it does not say. */
function sessionOf(body: JsonBody, headers: IncomingHttpHeaders): string | null {
  const told = [
    headers[CLAUDE_CODE],
    sessionOfUser(memberOf(smallValueOf(body, 'metadata'), 'user_id')),
    ...SESSION_HEADERS.map((name) => headers[name]),
    smallValueOf(body, 'prompt_cache_key'),
    headers[OPEN_WEBUI],
  ];
  return told.find((name): name is string => typeof name === 'string' && name !== '') ?? null;
}

/** Claude Code's: `user_…_account_…_session_…`, or JSON with a `session_id`. */
function sessionOfUser(id: unknown): string | null {
  if (typeof id !== 'string') return null;
  const told = smallValueOf(bodyOf(Buffer.from(id)), 'session_id');
  if (typeof told === 'string' && told !== '') return told;
  return /_session_(.+)$/s.exec(id)?.[1] ?? null;
}

let xxHash: XXHashAPI | null = null;

/** Resolves, once for the process, when hashes can be made. */
export const hashIsReady = startXxHash().then((api) => void (xxHash = api));

/** The hash keeps as much memory for good as the longest piece that it ever took. */
const MAX_PIECE_BYTES = 64 * 1024;

/** Bits of the hash that a number has no room for. */
const SURPLUS_BITS = 11n;

/** A hash of the bytes so far, whatever pieces they came in. It need not withstand forgery. */
export function createRollingHash() {
  if (xxHash === null) throw new Error('rolling hashes are made before hashIsReady has resolved');
  const hash = xxHash.create64();
  let length = 0;
  return {
    add(bytes: Buffer, start: number, end: number) {
      length += end - start;
      for (let at = start; at < end; at += MAX_PIECE_BYTES)
        hash.update(bytes.subarray(at, Math.min(end, at + MAX_PIECE_BYTES)));
    },
    /** Of all bytes so far; a safe integer. More bytes may follow: the digest leaves the hash as it is. */
    key: () => Number(hash.digest() >> SURPLUS_BITS),
    length: () => length,
  };
}
