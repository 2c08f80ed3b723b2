import fs, {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  readTextFile,
  replaceFile,
  replaceFileAsync,
  replaceFiles,
} from '../../main/platform/files.ts';
import { temporaryDirectory } from '../support/gateway.ts';

/** What a step does to the disk, in order: `sync` of a file or directory, and `rename` to a name. */
function recordedSteps(): readonly string[] {
  const steps: string[] = [];
  const { fsyncSync, openSync, renameSync } = fs;
  const { open, rename, writeFile } = fs.promises;
  const names = new Map<number, string>();
  fs.openSync = (path, ...rest) => {
    const file = openSync(path, ...rest);
    names.set(file, basename(String(path)));
    return file;
  };
  fs.fsyncSync = (file) => {
    steps.push(`sync ${names.get(file)}`);
    fsyncSync(file);
  };
  fs.renameSync = (from, to) => {
    steps.push(`rename to ${basename(String(to))}`);
    renameSync(from, to);
  };
  fs.promises.open = async (path, ...rest) => {
    const file = await open(path, ...rest);
    const sync = file.sync.bind(file);
    file.sync = () => {
      steps.push(`sync ${basename(String(path))}`);
      return sync();
    };
    return file;
  };
  fs.promises.writeFile = async (path, data, options) => {
    const isFlushed = typeof options === 'object' && options?.flush === true;
    if (isFlushed && typeof path === 'string') steps.push(`sync ${basename(path)}`);
    await writeFile(path, data, options);
  };
  fs.promises.rename = (from, to) => {
    steps.push(`rename to ${basename(String(to))}`);
    return rename(from, to);
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs, { fsyncSync, openSync, renameSync });
    Object.assign(fs.promises, { open, rename, writeFile });
    syncBuiltinESMExports();
  });
  return steps;
}

const hasModes = process.platform !== 'win32';

test.runIf(hasModes)(
  'a replacement file is on disk before its name, and its name before the next step',
  async () => {
    const directory = temporaryDirectory();
    const folder = basename(directory);
    const steps = recordedSteps();
    replaceFiles([
      { path: join(directory, 'a'), text: '1' },
      { path: join(directory, 'b'), text: '2' },
    ]);
    await replaceFileAsync(join(directory, 'c'), '3');
    expect(steps).toEqual([
      'sync a.new',
      'sync b.new',
      'rename to a',
      `sync ${folder}`,
      'rename to b',
      `sync ${folder}`,
      'sync c.new',
      'rename to c',
      `sync ${folder}`,
    ]);
  },
);

test('a replaced file is for its owner alone, whatever draft or link lay there', async () => {
  const directory = temporaryDirectory();
  const outside = join(temporaryDirectory(), 'outside');
  writeFileSync(outside, 'untouched');
  for (const [name, replace] of [
    ['at-once', replaceFile],
    ['later', replaceFileAsync],
  ] as const) {
    const path = join(directory, name);
    writeFileSync(path, 'old');
    chmodSync(path, 0o644);
    symlinkSync(outside, `${path}.new`);
    await replace(path, 'new');
    expect(readFileSync(path, 'utf8')).toBe('new');
    expect(hasModes ? statSync(path).mode & 0o777 : 0o600).toBe(0o600);
  }
  expect(readFileSync(outside, 'utf8')).toBe('untouched');
  expect(readdirSync(directory)).toEqual(['at-once', 'later']);
});

test.each(['old', null])(
  'no file of several is replaced if one of them cannot be (first: %j)',
  (old) => {
    const directory = temporaryDirectory();
    const first = join(directory, 'a');
    if (old !== null) writeFileSync(first, old);
    mkdirSync(join(directory, 'b'));
    const files = ['a', 'b'].map((name) => ({ path: join(directory, name), text: 'new' }));
    expect(() => replaceFiles(files)).toThrow(expect.objectContaining({ path: files[1]?.path }));
    expect(readTextFile(first)).toBe(old);
  },
);

test('no file is written or replaced other than through the one helper', () => {
  const main = join(import.meta.dirname, '../../main');
  const writers = readdirSync(main, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .filter((name) =>
      /\b(writeFile|writeFileSync|createWriteStream|rename|appendFileSync)\b/.test(
        readFileSync(join(main, name), 'utf8'),
      ),
    );
  // What a power cut takes of these is no loss: a unit that can be installed again, the last lines of the log.
  const found = writers.toSorted();
  expect(found).toEqual(['cli/service/service.ts', 'platform/files.ts', 'platform/log.ts']);
});
