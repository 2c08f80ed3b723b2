import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { createStateFile } from '../../platform/state-file.ts';

export interface AnswerCount {
  readonly tokens: number;
  /** Null if it could not be measured. */
  readonly decodeTps: number | null;
}

/** Counts answers and tokens across restarts. */
export type Counters = ReturnType<typeof createCounters>;

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
  /** Of the last request that named one. */
  lastModel: z.string().nullable(),
});
const fileSchema = servedSchema.extend({ version: z.literal(1) });

const NOTHING = { requestsServed: 0, tokensGenerated: 0, decodeTps: null, lastModel: null };

/** Continues with the counts saved in `directory`. */
export function createCounters(
  directory: string,
  edges: { readonly clock: Clock; readonly log: Log },
) {
  let served: Readonly<z.infer<typeof servedSchema>> = NOTHING;
  const file = createStateFile(join(directory, FILE), () => ({ version: 1, ...served }), edges);
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
