import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

/** The parts whose figures docs/performance.md shows (`npm run figures`). */
export const RESULT_NAMES = ['relay', 'growth', 'start', 'pool'] as const;
export type ResultName = (typeof RESULT_NAMES)[number];

/** Under what the figures came to be. */
export interface Conditions {
  readonly node: string;
  readonly processor: string;
  /** The share of the machine that other programs used, from 0 to 1. */
  readonly others: number;
}

/** Figures of a run, with their conditions. */
export interface Result<T> extends Conditions {
  readonly figures: T;
}

const FOLDER = join(import.meta.dirname, '../../.cache/bench');

/** Keeps what a run brought, for `npm run figures`. */
export function keepResult(name: ResultName, figures: unknown, others: number): void {
  mkdirSync(FOLDER, { recursive: true });
  const processor = cpus()[0]?.model ?? 'unknown';
  const result: Result<unknown> = { node: process.version, processor, others, figures };
  writeFileSync(join(FOLDER, `${name}.json`), `${JSON.stringify(result, rounded, 2)}\n`);
}

/** Four digits say all that there is to know. */
const rounded = (_key: string, value: unknown) =>
  typeof value === 'number' ? Number(value.toPrecision(4)) : value;

/** What the last run kept; null if there was none. */
export function keptResult(name: ResultName): string | null {
  try {
    return readFileSync(join(FOLDER, `${name}.json`), 'utf8');
  } catch {
    return null;
  }
}
