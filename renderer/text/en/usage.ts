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
  cached: (cached: number, input: number) =>
    `${formatCount(cached)} of ${counted(input, TOKENS)} from its cache`,
  fixed: (names: readonly string[]) => `${names.join(', ')} in its prompt held constant`,
  machineOf: (upstream: string, machine: string) => `${upstream} · ${machine}`,
};
