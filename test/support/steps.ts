import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** What a module exports as `WORKS`, by name: `begin` prepares so much work, which is counted once it is done. */
export type Works = Readonly<
  Record<string, { readonly size: number; readonly begin: (size: number) => () => void }>
>;

/** Of the work of a size, and of `TIMES` as much. */
export interface Steps {
  readonly few: number;
  readonly many: number;
}

export const TIMES = 8;

/** How many steps the works of a module take, the same on any machine: time would depend on what else that does. */
export async function countSteps(module: string): Promise<ReadonlyMap<string, Steps>> {
  const counter = fileURLToPath(new URL('count-steps.ts', import.meta.url));
  const args = ['--no-opt', '--no-maglev', counter, module];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return new Map(Object.entries(JSON.parse(stdout) as Record<string, Steps>));
}
