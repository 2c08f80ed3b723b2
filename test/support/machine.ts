import {
  type FirstToken,
  NO_PREDICTION_YET,
  type PredictionRecord,
  withFirstToken,
} from '../../main/gateway/routing/predictions.ts';
import { chance } from './chance.ts';

/** A machine whose first token takes an overhead and a rate, give or take. */
export interface LinearMachine {
  readonly overheadMs: number;
  readonly msPerByte: number;
  /** By so much at most each time is off, to either side. */
  readonly noiseMs: number;
}

/** The lengths of prompts that a machine is asked, from any to any. */
interface Lengths {
  readonly fromBytes: number;
  readonly toBytes: number;
}

/** Prompts of 100 to 100,000 bytes: a greeting, a document. */
export const ALL_SORTS: Lengths = { fromBytes: 100, toBytes: 100_000 };

/** What a machine takes without noise. */
export function exactMs({ overheadMs, msPerByte }: LinearMachine, promptBytes: number): number {
  return overheadMs + msPerByte * promptBytes;
}

/** `count` first tokens of a machine, the same in each run. */
export function firstTokens(
  machine: LinearMachine,
  count: number,
  seed: number,
  { fromBytes, toBytes }: Lengths = ALL_SORTS,
): FirstToken[] {
  const random = chance(seed);
  return Array.from({ length: count }, () => {
    const promptBytes = Math.round(fromBytes + random() * (toBytes - fromBytes));
    const offMs = (2 * random() - 1) * machine.noiseMs;
    return { promptBytes, ttftMs: Math.max(0, exactMs(machine, promptBytes) + offMs) };
  });
}

/** What is known after all of these. */
export function learned(
  tokens: readonly FirstToken[],
  before: PredictionRecord = NO_PREDICTION_YET,
): PredictionRecord {
  return tokens.reduce(withFirstToken, before);
}
