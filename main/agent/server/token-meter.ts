import { ByteBuffer } from '../../platform/byte-buffer.ts';
import { memberOf, numberOf, parseJson } from '../../platform/json.ts';
import type { AnswerCount } from './counters.ts';

/** Counts the tokens of an answer that goes by, without holding it up. */
export interface Meter {
  /** Takes the next piece and when it came, in ticks. */
  see(chunk: Buffer, ticks: number): void;
  /** The caller was too slow to take it all at once: its speed is not the engine's. */
  slowed(): void;
  count(): AnswerCount;
}

/** For answers of which nothing is to be counted but that they were given. */
export function createNoMeter(): Meter {
  return { see() {}, slowed() {}, count: () => ({ tokens: 0, decodeTps: null }) };
}

/** A whole answer beyond this is not looked into: parsing it would hold up everybody else. */
const MAX_WHOLE_BYTES = 1024 * 1024;

/** For an answer that comes as a whole: its usage says how many tokens it has. */
export function createWholeMeter(): Meter {
  const body = new ByteBuffer();
  let isTooLarge = false;
  return {
    see(chunk) {
      if (isTooLarge) return;
      body.add(chunk);
      if (body.length <= MAX_WHOLE_BYTES) return;
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

/** An event's line beyond this is thrown away unread. */
const MAX_LINE_BYTES = 256 * 1024;
/** Fewer tokens, or a shorter time, measure the network's pieces and not the engine. */
const MIN_TOKENS = 8;
const MIN_MS = 100;
/** The registry caps it there (docs/agent-protocol.md#heartbeat). */
const MAX_TPS = 5000;
/** A non-empty text under one of the names that engines have for it, or an argument of a tool call. */
const CONTENT = /"(?:content|reasoning_content|reasoning|refusal|text|arguments)"\s*:\s*"(?!")/;
const LF = 0x0a;

/** For a stream of server-sent events: its usage, else one token for each event with content. */
export function createStreamMeter(): Meter {
  let events = 0;
  let usage: number | null = null;
  let firstTicks: number | null = null;
  let lastTicks = 0;
  let isSlowed = false;
  /** The beginning of a line whose end has not come. */
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
        // One byte a character: the names that are looked for are plain ASCII.
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
      // The first token ends the reading of the prompt; the others are what came in the time.
      const tps = isMeasured ? ((tokens - 1) * 1000) / ms : null;
      return { tokens, decodeTps: tps !== null && tps <= MAX_TPS ? tps : null };
    },
  };
}

function usageIn(json: string): number | null {
  const tokens = numberOf(memberOf(parseJson(json), 'usage', 'completion_tokens'));
  return tokens !== null && Number.isSafeInteger(tokens) && tokens >= 0 ? tokens : null;
}
