import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { claimDataDirectory } from '../../main/platform/data-lock.ts';
import { temporaryDirectory } from '../support/gateway.ts';

test('a data directory is given back even if its owner file cannot be removed', () => {
  const directory = temporaryDirectory();
  const claim = claimDataDirectory(directory, 0);
  if (claim.kind === 'taken') throw new Error('the data directory has another owner');
  // A folder in its place stands for a directory that became read-only, which does not stop root.
  rmSync(join(directory, 'running.json'));
  mkdirSync(join(directory, 'running.json', 'inside'), { recursive: true });
  claim.lock.release();
  rmSync(join(directory, 'running.json'), { recursive: true });
  const next = claimDataDirectory(directory, 0);
  expect(next.kind).toBe('claimed');
  if (next.kind === 'claimed') next.lock.release();
});

test('a second claim by the owner of a data directory does not open it to another process', () => {
  const directory = temporaryDirectory();
  const claim = claimDataDirectory(directory, 0);
  expect(claimDataDirectory(directory, 0).kind).toBe('taken');
  const module = JSON.stringify(import.meta.resolve('../../main/platform/data-lock.ts'));
  const program = `const { claimDataDirectory } = await import(${module});
    console.log(claimDataDirectory(${JSON.stringify(directory)}, 0).kind);`;
  const other = spawnSync(process.execPath, ['--input-type=module', '-e', program]);
  expect(other.stdout.toString().trim()).toBe('taken');
  if (claim.kind === 'claimed') claim.lock.release();
});
