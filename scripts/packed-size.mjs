// Called by electron-builder for each packed app: says what takes how much of it.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const MIB = 1024 * 1024;

/** @returns {number} the bytes of all files in and below `path` */
function sizeOf(path) {
  if (!existsSync(path)) return 0;
  const found = statSync(path);
  if (!found.isDirectory()) return found.size;
  const names = readdirSync(path, { withFileTypes: true }).filter(
    (entry) => !entry.isSymbolicLink(),
  );
  return names.reduce((sum, { name }) => sum + sizeOf(join(path, name)), 0);
}

export function afterPack({ appOutDir, electronPlatformName, packager }) {
  const resources = packager.getResourcesDir(appOutDir);
  const own = ['app.asar', 'app.asar.unpacked', 'licences'].map((name) => [
    name,
    sizeOf(join(resources, name)),
  ]);
  const total = sizeOf(appOutDir);
  const electron = total - own.reduce((sum, [, bytes]) => sum + bytes, 0);
  const rows = [...own, ['Electron', electron], ['total', total]];
  console.log(`  • size of the app for ${electronPlatformName}`);
  for (const [name, bytes] of rows) {
    console.log(`      ${name.padEnd(18)} ${(bytes / MIB).toFixed(1).padStart(7)} MiB`);
  }
}
