import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where a real llama-server is: as it is set, or on the path; null where there is none. */
export function llamaServer(): string | null {
  const places = (process.env['PATH'] ?? '').split(delimiter).map((at) => join(at, 'llama-server'));
  const set = process.env['INGLENOOK_TEST_LLAMA_SERVER'];
  return (set === undefined ? places : [set]).find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
