import { ByteBuffer } from '../../platform/byte-buffer.ts';
import { memberOf, numberOf, parseJson } from '../../platform/json.ts';
import type { AnswerCount } from './counters.ts';

/** Counts the tokens of a response while it is forwarded. */
export interface Meter {
  /** `ticks`: when the chunk arrived. */
  see(chunk: Buffer, ticks: number): void;
  /** The caller was slower than the engine, so the engine's speed cannot be measured. */
  slowed(): void;
  count(): AnswerCount;
}

/** For responses without tokens to count. */
export function createNoMeter(): Meter {
  return { see() {}, slowed() {}, count: () => ({ tokens: 0, decodeTps: null }) };
}

/** Larger responses are not parsed: that would block the event loop. */
const MAX_PARSED_BYTES = 1024 * 1024;

/** For a JSON response: takes the tokens from its `usage`. */
export function createWholeMeter(): Meter {
  const body = new ByteBuffer();
  let isTooLarge = false;
  return {
    see(chunk) {
      if (isTooLarge) return;
      body.add(chunk);
      if (body.length <= MAX_PARSED_BYTES) return;
      isTooLarge = true;
      body.clear();
    },
    slowed() {},
    count: () => ({
      tokens: isTooLarge ? 0 : (usageIn(body.take().toString('utf8')) ?? 0),
      decodeTps: null,
    }),
  };
}

/** Longer lines of events are skipped. */
const MAX_LINE_BYTES = 256 * 1024;
/** With fewer tokens or a shorter time, the timing of network packets dominates. */
const MIN_TOKENS = 8;
const MIN_MS = 100;
/** The registry's limit (docs/reference/agent-protocol.md#heartbeat). */
const MAX_TPS = 5000;
/** A non-empty string under one of the names that engines use for text or for arguments of a tool call. */
const CONTENT = /"(?:content|reasoning_content|reasoning|refusal|text|arguments)"\s*:\s*"(?!")/;
const LF = 0x0a;

/** For server-sent events: takes the tokens from `usage`, or counts one per event with content. */
export function createStreamMeter(): Meter {
  let events = 0;
  let usage: number | null = null;
  let firstTicks: number | null = null;
  let lastTicks = 0;
  let isSlowed = false;
  /** The unfinished line. */
  const rest = new ByteBuffer();
  let isTooLong = false;

  function line(text: string, ticks: number): void {
    if (!text.startsWith('data:')) return;
    if (text.includes('"completion_tokens"')) usage = usageIn(text.slice(5)) ?? usage;
    if (!CONTENT.test(text)) return;
    events += 1;
    firstTicks ??= ticks;
    lastTicks = ticks;
  }

  function keep(piece: Buffer): void {
    if (isTooLong) return;
    rest.add(piece);
    isTooLong = rest.length > MAX_LINE_BYTES;
    if (isTooLong) rest.clear();
  }

  return {
    see(chunk, ticks) {
      let from = 0;
      for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
        keep(chunk.subarray(from, at));
        // Latin-1 is enough: the member names searched for are ASCII.
        if (!isTooLong) line(rest.take().toString('latin1'), ticks);
        isTooLong = false;
        from = at + 1;
      }
      keep(chunk.subarray(from));
    },
    slowed: () => void (isSlowed = true),
    count() {
      const tokens = usage ?? events;
      const ms = firstTicks === null ? 0 : lastTicks - firstTicks;
      const isMeasured = !isSlowed && tokens >= MIN_TOKENS && events > 1 && ms >= MIN_MS;
      // The first token marks the end of prompt processing, so it is not counted.
      const tps = isMeasured ? ((tokens - 1) * 1000) / ms : null;
      return { tokens, decodeTps: tps !== null && tps <= MAX_TPS ? tps : null };
    },
  };
}

function usageIn(json: string): number | null {
  const tokens = numberOf(memberOf(parseJson(json), 'usage', 'completion_tokens'));
  return tokens !== null && Number.isSafeInteger(tokens) && tokens >= 0 ? tokens : null;
}
