import { counted, formatCount } from '../format.ts';
import { TOKENS } from './nouns.ts';

export interface Counted {
  readonly input: number;
  readonly output: number;
  /** True if the upstream did not report them. */
  readonly estimated?: boolean;
}

export const usage = {
  tokens: ({ input, output, estimated = false }: Counted) =>
    `${estimated ? '≈ ' : ''}${counted(input, TOKENS)} in, ${formatCount(output)} out`,
  rate: (perSecond: number) =>
    `${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)} tokens/s`,
  machineOf: (upstream: string, machine: string) => `${upstream} · ${machine}`,
};
