import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** The files by which the kernel describes its devices. */
export interface KernelFiles {
  /** The text of a file, such as `/sys/class/drm/card0/device/vendor`; null when it cannot be read. */
  text(path: string): Promise<string | null>;
  /** The names in a folder, sorted; none when it cannot be read. */
  names(path: string): Promise<readonly string[]>;
  /** When a file was last read, in milliseconds since the epoch; null when it cannot be looked at. */
  accessedMs(path: string): Promise<number | null>;
}

/** Files of the kernel; `root` is `/` but for a tree that was copied. */
export function createKernelFiles(root: string): KernelFiles {
  return {
    async text(path) {
      try {
        return (await readFile(join(root, path), 'utf8')).trim();
      } catch {
        return null;
      }
    },
    async names(path) {
      try {
        return (await readdir(join(root, path))).toSorted();
      } catch {
        return [];
      }
    },
    async accessedMs(path) {
      try {
        return (await stat(join(root, path))).atimeMs;
      } catch {
        return null;
      }
    },
  };
}
