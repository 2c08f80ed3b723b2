import { join } from 'node:path';
import { z } from 'zod';
import { createStateFile } from '../../platform/files.ts';
import { createLines } from '../../platform/lines.ts';
import type { AgentContext } from '../context.ts';

/** Counts answers and tokens across restarts. */
export type AgentCounters = ReturnType<typeof createCounters>;

const FILE = 'agent-counters.json';
/** Weight of the latest stream in the average; ten streams later its weight is a tenth of that. */
const WEIGHT = 0.2;

const count = z.int().nonnegative();
/** Totals since the agent was installed. */
const servedSchema = z.object({
  requestsServed: count,
  tokensGenerated: count,
  /** Tokens per second of one stream, as a moving average; null before the first stream. */
  decodeTps: z.number().positive().nullable(),
  /** The model that the last request named. */
  lastModel: z.string().nullable(),
});
export type ServedCounts = Readonly<z.infer<typeof servedSchema>>;
const fileSchema = servedSchema.extend({ version: z.literal(1) });

const NOTHING = { requestsServed: 0, tokensGenerated: 0, decodeTps: null, lastModel: null };

/** Continues with the counts that were saved. */
export function createCounters(context: AgentContext) {
  let served: ServedCounts = NOTHING;
  const path = join(context.dataDirectory, FILE);
  const file = createStateFile(path, () => ({ version: 1, ...served }), context);
  const { data } = fileSchema.safeParse(file.load());
  if (data !== undefined) {
    const { version: _, ...saved } = data;
    served = saved;
  }
  return {
    view: () => served,
    asked(model: string) {
      if (served.lastModel !== model) served = { ...served, lastModel: model };
    },
    served({ tokens, decodeTps }: AnswerCount) {
      served = {
        ...served,
        requestsServed: served.requestsServed + 1,
        tokensGenerated: served.tokensGenerated + tokens,
        decodeTps: smoothed(served.decodeTps, decodeTps),
      };
      file.changed();
    },
    flush: () => file.flush(),
  };
}

function smoothed(before: number | null, sample: number | null): number | null {
  if (sample === null) return before;
  const value = before === null ? sample : before + WEIGHT * (sample - before);
  return Math.round(value * 10) / 10;
}

export type Meter = ReturnType<typeof createMeter>;

/** `decodeTps` is null if it could not be measured. */
type AnswerCount = ReturnType<Meter['count']>;

/** Longer lines are skipped: they would block the event loop. An answer in one piece is mostly one line. */
const MAX_LINE_BYTES = 1024 * 1024;
/** With fewer tokens or a shorter time, the timing of network packets dominates. */
const MIN_TOKENS = 8;
const MIN_MS = 100;
/** A non-empty string under one of the names that engines use for text or for arguments of a tool call. */
const CONTENT = /"(?:content|reasoning_content|reasoning|refusal|text|arguments)"\s*:\s*"(?!")/;
/** Of `usage`. In a text of the model its quotation marks would be escaped. */
const TOKENS = /"completion_tokens"\s*:\s*(\d{1,15})\b/;

/** Counts the tokens of a response while it is forwarded: those of its `usage`, or one for each event with content. */
export function createMeter() {
  let events = 0;
  let usage: number | null = null;
  let firstTicks: number | null = null;
  let lastTicks = 0;
  let isSlowed = false;
  let chunkTicks = 0;

  const lines = createLines(MAX_LINE_BYTES, (line) => {
    const said = TOKENS.exec(line)?.[1];
    if (said !== undefined) usage = Number(said);
    if (!line.startsWith('data:') || !CONTENT.test(line)) return;
    events += 1;
    firstTicks ??= chunkTicks;
    lastTicks = chunkTicks;
  });

  return {
    /** `ticks`: when the chunk arrived. */
    see(chunk: Buffer, ticks: number) {
      chunkTicks = ticks;
      lines.add(chunk);
    },
    /** The caller was slower than the engine, so the engine's speed cannot be measured. */
    slowed: () => void (isSlowed = true),
    /** The response is complete. */
    count() {
      lines.end();
      const tokens = usage ?? events;
      const ms = firstTicks === null ? 0 : lastTicks - firstTicks;
      const isMeasured = !isSlowed && tokens >= MIN_TOKENS && events > 1 && ms >= MIN_MS;
      // The first token marks the end of prompt processing, so it is not counted.
      return { tokens, decodeTps: isMeasured ? ((tokens - 1) * 1000) / ms : null };
    },
  };
}
