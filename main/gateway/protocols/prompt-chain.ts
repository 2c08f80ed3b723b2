import type { IncomingHttpHeaders } from 'node:http';
import { memberOf, parseJson } from '../../platform/json.ts';
import { smallValueOf } from './json-edit.ts';
import type { Member } from './json-scan.ts';
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
  readonly bytes: number;
}

export interface CachedPrefix {
  readonly chain: PromptChain;
  readonly bytes: number;
  /** It is more than a system prompt, which many conversations may begin with. */
  readonly isConversation: boolean;
  /** When the machine last read it, in clock ticks; null: never. */
  readonly readAt: number | null;
}

/** The part of a prompt that a machine has yet to read. */
export function newBytesOf({
  promptBytes,
  prefix,
}: {
  readonly promptBytes: number;
  readonly prefix: CachedPrefix | null;
}): number {
  if (prefix === null) return promptBytes;
  return Math.round(promptBytes * (1 - prefix.bytes / prefix.chain.bytes));
}

interface Body {
  readonly bytes: Buffer;
  readonly members: readonly Member[];
}

/**
 * What templates put before the first message, gpt-oss the effort, too; another model has another cache, and with vLLM
 * another salt (docs.vllm.ai, Automatic Prefix Caching).
 */
const HEAD: ReadonlySet<string> = new Set([
  'model',
  'cache_salt',
  'reasoning_effort',
  'tools',
  'functions',
  'system',
  'instructions',
]);
const MESSAGES: ReadonlySet<string> = new Set(['messages', 'input', 'prompt']);

/** Of a conversation; an edit further back finds the system prompt alone. */
const MAX_MESSAGES = 63;

/** Of a prompt that is one text, which has no messages. */
const TEXT_PIECE_BYTES = 4096;

/** Null for a body without a prompt, and for one that asks llama.cpp to read all of it. */
export function chainOf(body: Body, headers: IncomingHttpHeaders): PromptChain | null {
  const { bytes, members } = body;
  const messages = members.find(({ key }) => MESSAGES.has(key));
  if (messages === undefined || smallValueOf(bytes, members, 'cache_prompt') === false) return null;
  const hash = createRollingHash();
  for (const { key, nameStart, end } of members) if (HEAD.has(key)) hash.add(bytes, nameStart, end);
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
  for (const [index, end] of ends.slice(told).entries()) {
    const at = told + index;
    const mark = at < ends.length - MARKED_MESSAGES ? null : cacheMark(bytes, startOf(at), end);
    hash.add(bytes, startOf(at), mark?.start ?? end);
    if (mark !== null) hash.add(bytes, mark.end, end);
    link();
  }
  const name = sessionOf(body, headers);
  const session = name === null ? null : sessionKey(name, keys[0] ?? 0);
  return { keys, lengths, session, bytes: bytes.length };
}

function sessionKey(name: string, head: number): number {
  const hash = createRollingHash();
  const bytes = Buffer.from(`${head} ${name}`);
  hash.add(bytes, 0, bytes.length);
  return hash.key();
}

/** Where the messages end, or pieces of a text. */
function endsOf({ start, end, ends }: Member): readonly number[] {
  if (ends.length > 0) return ends.map((at) => start + at);
  const pieces: number[] = [];
  for (let at = start + TEXT_PIECE_BYTES; at < end; at += TEXT_PIECE_BYTES) pieces.push(at);
  return [...pieces, end];
}

/** A role stands first or last in its message. */
const ROLE_BYTES = 64;
const SYSTEM_ROLE = /"role"\s*:\s*"(system|developer)"/;

function isSystemMessage(bytes: Buffer, start: number, end: number): boolean {
  return (
    SYSTEM_ROLE.test(bytes.toString('latin1', start, Math.min(end, start + ROLE_BYTES))) ||
    SYSTEM_ROLE.test(bytes.toString('latin1', Math.max(start, end - ROLE_BYTES), end))
  );
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
function sessionOf({ bytes, members }: Body, headers: IncomingHttpHeaders): string | null {
  const named = (name: string) => {
    const value = headers[name];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const field = (key: string) => smallValueOf(bytes, members, key);
  const cacheKey = () => {
    const value = field('prompt_cache_key');
    return typeof value === 'string' && value !== '' ? value : null;
  };
  return (
    named(CLAUDE_CODE) ??
    sessionOfUser(memberOf(field('metadata'), 'user_id')) ??
    SESSION_HEADERS.map(named).find((value) => value !== null) ??
    cacheKey() ??
    named(OPEN_WEBUI)
  );
}

/** Claude Code's: `user_…_account_…_session_…`, or JSON with a `session_id`. */
function sessionOfUser(id: unknown): string | null {
  if (typeof id !== 'string') return null;
  const told = memberOf(parseJson(id), 'session_id');
  if (typeof told === 'string' && told !== '') return told;
  return /_session_(.+)$/s.exec(id)?.[1] ?? null;
}

let xxHash: XXHashAPI | null = null;

/** Resolves, once for the process, when hashes can be made. */
export const hashIsReady = startHashing();

async function startHashing(): Promise<void> {
  xxHash = await startXxHash();
}

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
