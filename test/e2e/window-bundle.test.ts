import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { WINDOW_DIRECTORY } from '../../main/app/app.ts';

const ASSETS = join(WINDOW_DIRECTORY, 'assets');

test('the files that the dashboard loads are at most 200 KB, compressed', () => {
  const files = readdirSync(ASSETS);
  expect(files.some((name) => name.endsWith('.js'))).toBe(true);
  const bytes = files.map((name) => gzipSync(readFileSync(join(ASSETS, name))).byteLength);
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(200_000);
});

test('the dashboard carries no schemas, since it reads its own gateway alone', () => {
  const scripts = readdirSync(ASSETS).filter((name) => name.endsWith('.js'));
  for (const name of scripts) expect(readFileSync(join(ASSETS, name), 'utf8')).not.toContain('Zod');
});
