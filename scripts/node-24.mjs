// Brings Node 24 where an older one runs. Plain JavaScript that Node 20 understands.
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { NODE_24, NODE_PACKAGE, npm, ROOT, run } from './tree.mjs';

const CACHE = join(ROOT, '.cache');

/**
 * One program of a package of 2,800 files: installed as the others are, they would be half of the work of a first start.
 * @returns {Promise<string | null>} why it is not there, or null when it is
 */
export async function bringNode24() {
  if (existsSync(NODE_24)) return null;
  if (NODE_PACKAGE === undefined)
    return `npm has no Node 24 for ${process.platform} on ${process.arch}`;
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'node-'));
  try {
    return await unpackInto(folder, NODE_PACKAGE);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function unpackInto(folder, { name, version, integrity, program }) {
  const to = relative(ROOT, folder);
  const stdio = ['ignore', 'ignore', 'inherit'];
  const fetched = await npm(['pack', `${name}@${version}`, `--pack-destination=${to}`], { stdio });
  if (fetched.code !== 0) return 'Node 24 could not be fetched; npm says why above';
  const archive = join(folder, `${name}-${version}.tgz`);
  const digest = createHash('sha512').update(readFileSync(archive)).digest('base64');
  if (`sha512-${digest}` !== integrity)
    return `The registry's ${name} ${version} is other than the lockfile has it`;
  const member = program.replace(name, 'package');
  const unpacked = await run('tar', ['-xzf', archive, '-C', folder, member]);
  if (unpacked.code !== 0) return 'Node 24 could not be unpacked; tar says why above';
  mkdirSync(dirname(NODE_24), { recursive: true });
  renameSync(join(folder, member), NODE_24);
  return null;
}

/** Scripts of npm find programs here first. */
export function linkNode24() {
  const bin = join(ROOT, 'node_modules/.bin');
  const program = relative(bin, NODE_24);
  mkdirSync(bin, { recursive: true });
  if (process.platform === 'win32')
    return writeFileSync(join(bin, 'node.cmd'), `@"%~dp0\\${program}" %*\r\n`);
  const link = join(bin, 'node');
  // It may be that of npm, or lead to an earlier version.
  rmSync(link, { force: true });
  symlinkSync(program, link);
}
