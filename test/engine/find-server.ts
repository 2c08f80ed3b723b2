import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where a real llama-server is: as it is set, or on the path; null where there is none. */
export function llamaServer(): string | null {
  const set = process.env['INGLENOOK_TEST_LLAMA_SERVER'];
  if (set === undefined) return onPath('llama-server');
  return isExecutable(set) ? set : null;
}

/** Where a program is; null where there is none. */
export function onPath(name: string): string | null {
  const places = (process.env['PATH'] ?? '').split(delimiter).map((at) => join(at, name));
  return places.find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
