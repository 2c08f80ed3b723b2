import { hash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import packageJson from '../../package.json' with { type: 'json' };
import type { OwnPackage } from '../gateway/api/install-routes.ts';
import { PACKAGE_ROOT } from '../platform/process.ts';

/** The package's files; the first two are not in every installation. */
const FILES = ['LICENSE', 'README.md'];
const FOLDERS = ['dist/node', 'dist/window', 'dist/window/assets'];
const PROGRAM = 'dist/node/headless.js';

/** The npm package of this program, packed at the first use. */
export function createOwnPackage(): () => Promise<OwnPackage> {
  let packed: Promise<OwnPackage> | null = null;
  return () => {
    if (existsSync(join(PACKAGE_ROOT, PROGRAM))) return (packed ??= pack());
    const why = `There is no ${PROGRAM} to hand out; in a clone, "npm run build" makes it.`;
    return Promise.resolve({ kind: 'unavailable', why });
  };
}

async function pack(): Promise<OwnPackage> {
  const paths = [
    ...FILES.filter((path) => existsSync(join(PACKAGE_ROOT, path))),
    ...FOLDERS.flatMap(filesIn),
  ];
  const files = await Promise.all(
    paths.toSorted().map(async (path): Promise<TarFile> => ({
      path: `package/${path}`,
      bytes: await readFile(join(PACKAGE_ROOT, path)),
      isExecutable: path.endsWith('.cjs'),
    })),
  );
  const manifest = { path: 'package/package.json', bytes: manifestOf(), isExecutable: false };
  const tarball = await promisify(gzip)(tarOf([...files, manifest]));
  const { name, version } = packageJson;
  return { kind: 'packed', name, version, tarball, sha256: hash('sha256', tarball) };
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(join(PACKAGE_ROOT, folder), { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => `${folder}/${name}`);
}

/** What npm needs from package.json. All packages but the native one are built in. */
function manifestOf(): Buffer {
  const { name, version, description, license, author, type, bin, engines } = packageJson;
  const dependencies = { 'better-sqlite3': packageJson.dependencies['better-sqlite3'] };
  const about = { name, version, description, license, author };
  const manifest = { ...about, type, bin, engines, dependencies };
  return Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
}

interface TarFile {
  /** At most 100 bytes. */
  readonly path: string;
  readonly bytes: Buffer;
  readonly isExecutable: boolean;
}

const BLOCK = 512;
/** npm gives all files this time (26 October 1985), so that the same files make the same archive. */
const TIME_S = 499_162_500;

/** A tar archive in the ustar format (POSIX.1-1988) of regular files. */
function tarOf(files: readonly TarFile[]): Buffer {
  const parts = files.flatMap((file) => [headerOf(file), file.bytes, padding(file.bytes.length)]);
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

function padding(bytes: number): Buffer {
  return Buffer.alloc((BLOCK - (bytes % BLOCK)) % BLOCK);
}

function headerOf({ path, bytes, isExecutable }: TarFile): Buffer {
  if (Buffer.byteLength(path) > 100) throw new Error(`The path ${path} is too long for ustar.`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at);
  header.write(path, 0);
  octal(isExecutable ? 0o755 : 0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(bytes.length, 124, 12);
  octal(TIME_S, 136, 12);
  // The sum counts its own field as spaces.
  header.write(' '.repeat(8), 148);
  header.write('0', 156);
  header.write('ustar\u000000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}
