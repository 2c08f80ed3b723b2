import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { unreachableRegistry } from '../e2e/npm-registry.ts';
import { writeBase } from './base-image.ts';

const ROOT = join(import.meta.dirname, '../..');

export const TAG = 'localhost/inglenook-test';

/** Nothing is asked of the system but this; the network is the machine's own. */
export const CHROOT = ['--isolation', 'chroot'];

function directoryIn(parent: string): string {
  const directory = mkdtempSync(join(parent, 'inglenook-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Builds the image in a store of its own, which goes with the test file, with a base of this machine's files. */
export function buildImage(tool: string) {
  const folder = directoryIn(tmpdir());
  const at = (name: string) => join(folder, name);
  // Podman refuses a run root of more than 50 characters.
  const runRoot = directoryIn('/tmp');
  const store = ['--root', at('store'), '--runroot', runRoot, '--storage-driver', 'vfs'];
  const run = (...args: readonly string[]) =>
    execFileSync(tool, [...store, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
  const build = (tag: string, context: string, ...more: readonly string[]) => {
    const file = ['-f', join(context, 'Containerfile')];
    return run('build', ...CHROOT, '--format', 'docker', '-t', tag, ...file, ...more, context);
  };
  writeBase(at('base'));
  build(`${TAG}-base`, at('base'));
  mkdirSync(at('context'));
  cpSync(join(ROOT, 'deploy/Containerfile'), at('context/Containerfile'));
  execFileSync(process.execPath, ['scripts/pack.ts', at('context')], { cwd: ROOT });
  const offline = attempt(() => build(TAG, at('context'), '--build-arg', `BASE=${TAG}-base`));
  return { run, store, offline };
}

/** Why the native package could not be fetched; null where it was. */
function attempt(build: () => void): string | null {
  try {
    build();
    return null;
  } catch (error) {
    const why = unreachableRegistry(error);
    if (why === null) throw error;
    return why;
  }
}
