import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../main/config/load.ts';
import { loadedOf } from '../support/config.ts';
import { temporaryDirectory } from '../support/gateway.ts';

const SECRET = 'c0ffee'.padEnd(64, '0');

function fileWith(text: string): string {
  const path = join(temporaryDirectory(), 'secret');
  writeFileSync(path, text);
  return path;
}

function problems(env: Readonly<Record<string, string>>): readonly string[] {
  const loaded = loadConfig(env, {});
  return loaded.kind === 'refused' ? loaded.problems : [];
}

test('each secret may come from a file that a variable names, and counts as set by the environment', () => {
  const { config, sources, warnings } = loadedOf({
    INGLENOOK_HOSTED_A_API_KEY_FILE: fileWith('sk-of-mine\n'),
    INGLENOOK_POOL_SECRET_FILE: fileWith(`${SECRET.toUpperCase()}\n`),
    INGLENOOK_API_KEYS_FILE: fileWith('first-key-0123456789\nsecond-key-0123456789\n'),
  });
  expect(config.hosted_a.apiKey).toBe('sk-of-mine');
  expect(config.gateway.poolSecret).toBe(SECRET);
  expect(config.gateway.apiKeys).toEqual(['first-key-0123456789', 'second-key-0123456789']);
  expect(sources.get('hosted_a.apiKey')).toBe('env');
  expect(warnings).toEqual([]);
});

test('a setting that is not a secret has no file', () => {
  const warnings = loadedOf({ INGLENOOK_PORT_FILE: fileWith('1') }).warnings;
  expect(warnings).toEqual(['INGLENOOK_PORT_FILE is not a setting of this version and is ignored']);
});

test('an unusable file of a secret refuses the start, and the error says which and why', () => {
  const folder = join(temporaryDirectory(), 'folder');
  mkdirSync(folder);
  const name = 'INGLENOOK_HOSTED_A_API_KEY_FILE';
  expect(problems({ [name]: '/nowhere/key' })).toEqual([
    `${name} is "/nowhere/key", which cannot be read (ENOENT): it must be a file that this user may read`,
  ]);
  expect(problems({ [name]: folder }).join()).toContain('(EISDIR)');
  expect(problems({ [name]: fileWith(' \n') }).join()).toContain('which is empty');
  expect(problems({ [name]: fileWith('x'.repeat(70_000)) }).join()).toContain('too long');
  const both = { [name]: fileWith('a'), INGLENOOK_HOSTED_A_API_KEY: 'b' };
  expect(problems(both)).toEqual([
    `INGLENOOK_HOSTED_A_API_KEY and ${name} are both set: leave one of them out`,
  ]);
});

test('a pool secret that is not 64 hexadecimal digits is refused without being shown', () => {
  const [problem] = problems({ INGLENOOK_POOL_SECRET_FILE: fileWith('hunter2-hunter2-hunter2') });
  expect(problem).toContain('INGLENOOK_POOL_SECRET');
  expect(problem).toContain('64 hexadecimal digits');
  expect(problem).not.toContain('hunter2-hunter2');
});
