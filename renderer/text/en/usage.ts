import type { TurnReading, Reread } from '#shared/usage.ts';
import { counted, formatCount } from '../format.ts';
import { TIMES, TOKENS } from './nouns.ts';

/** The reasons that cost most; the rest is little. */
const MAX_REASONS = 3;

export interface TokenUsage {
  readonly input: number;
  readonly output: number;
  /** True if the upstream did not report them. */
  readonly estimated?: boolean;
}

const WHY: Record<TurnReading['why'], string> = {
  first_turn: 'first turn',
  another_machine: 'another machine',
  another_model: 'another model',
  unloaded: 'model unloaded or restarted',
  evicted: 'no longer in the cache',
  tools: 'tools changed',
  system: 'system prompt changed',
  reminder: 'system reminder changed',
  user: 'user message changed',
  assistant: 'earlier answer changed',
  tool: 'tool result changed',
  message: 'early message changed',
};

const readAgain = (tokens: number) => `${counted(tokens, TOKENS)} read again`;

export const usage = {
  /** `38,000 tokens read again: system reminder changed (message 3)`; of a first turn, only that it is one. */
  reading: ({ why, again, message }: TurnReading) => {
    const what = message === null ? WHY[why] : `${WHY[why]} (message ${message})`;
    return again === 0 ? what : `${readAgain(again)}: ${what}`;
  },
  /** `38,000 tokens read again today: system reminder changed 12 times, another machine once`. */
  rereads: (rereads: readonly Reread[]) => {
    const total = rereads.reduce((sum, { tokens }) => sum + tokens, 0);
    const reasons = rereads.map(({ why, turns }) => `${WHY[why]} ${counted(turns, TIMES)}`);
    return `${readAgain(total)} today: ${reasons.slice(0, MAX_REASONS).join(', ')}.`;
  },
  tokens: ({ input, output, estimated = false }: TokenUsage) =>
    `${estimated ? '≈ ' : ''}${counted(input, TOKENS)} in, ${formatCount(output)} out`,
  rate: (perSecond: number) =>
    `${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)} tokens/s`,
  machineOf: (upstream: string, machine: string) => `${upstream} · ${machine}`,
};
