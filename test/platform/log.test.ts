import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import {
  createLog,
  fileSink,
  logFile,
  type LogFormat,
  streamSink,
} from '../../main/platform/log.ts';
import { temporaryDirectory } from '../support/gateway.ts';

function linesOf(
  format: LogFormat,
  ...events: readonly Parameters<ReturnType<typeof createLog>>[]
) {
  const lines: string[] = [];
  const log = createLog({ level: 'info', format, write: (line) => lines.push(line) });
  for (const event of events) log(...event);
  return lines;
}

const REQUEST = ['info', 'request', { id: 'req_1', status: 200, upstream: null }] as const;

test('a log line is one JSON object, text for people, or text for the journal', () => {
  const [json = ''] = linesOf('json', [...REQUEST]);
  expect(JSON.parse(json)).toEqual({
    time: expect.stringMatching(/Z$/),
    level: 'info',
    event: 'request',
    id: 'req_1',
    status: 200,
    upstream: null,
  });
  expect(linesOf('text', [...REQUEST])).toEqual([
    expect.stringMatching(/^\S+Z info {2}request id=req_1 status=200 upstream=null\n$/),
  ]);
  const journal = linesOf('journal', [...REQUEST], ['warn', 'careful']);
  expect(journal).toEqual(['<6>request id=req_1 status=200 upstream=null\n', '<4>careful\n']);
});

test.each(['text', 'journal', 'json'] as const)(
  'a value from outside adds no field or line to a log of %s',
  (format) => {
    const model = 'x status=500\n<3>forged\u001B[2J\u0085\u202E "quoted"';
    const [line = '', ...others] = linesOf(format, ['info', 'request', { model }]);
    expect(others).toEqual([]);
    expect(line.trimEnd()).toMatch(/^[^\p{Cc}\p{Cf}]+$/u);
    expect(line).toMatch(/model"?[=:]"x status=500.+\\"quoted\\""/);
  },
);

test('the log file is for its owner, is appended to, and two of 5 MB are kept', async () => {
  const directory = join(temporaryDirectory(), 'logs');
  fileSink(directory)('from the run before\n');
  await expect.poll(() => readFileSync(logFile(directory), 'utf8')).toContain('the run before\n');
  const write = fileSink(directory);
  const line = `${'x'.repeat(1024 * 1024 - 1)}\n`;
  for (let each = 0; each < 12; each += 1) write(line);
  write('the last line\n');
  await expect.poll(() => readFileSync(logFile(directory), 'utf8')).toContain('the last line\n');
  expect(readdirSync(directory).toSorted()).toEqual(['inglenook.log', 'inglenook.log.1']);
});

/** How many descriptors of this process lead to the device that is always full. */
const openFull = () =>
  readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`) === '/dev/full';
    } catch {
      return false;
    }
  }).length;

test.runIf(process.platform === 'linux')(
  'a log file continues once a disk that was full has space again',
  async () => {
    const directory = temporaryDirectory();
    const file = logFile(directory);
    symlinkSync('/dev/full', file);
    const write = fileSink(directory);
    await expect.poll(openFull).toBe(1);
    write('lost\n');
    await expect.poll(openFull).toBe(0);
    rmSync(file);
    write('kept\n');
    await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8')).toBe('kept\n');
  },
);

test('a log reader that stops reading costs at most a megabyte, and later lines are lost', () => {
  const stalled = new PassThrough({ highWaterMark: 1 });
  const write = streamSink(stalled);
  for (let each = 0; each < 100; each += 1) write('y'.repeat(64 * 1024));
  expect(stalled.readableLength + stalled.writableLength).toBeLessThan(1.2 * 1024 * 1024);
});

test('a program that exits at once has written its last log lines', () => {
  const directory = temporaryDirectory();
  const program = `
    import { fileSink, streamSink } from '${pathToFileURL('main/platform/log.ts').href}';
    for (const write of [fileSink(process.argv[1]), streamSink(process.stderr)]) write('the last words\\n');
    process.exit(3);`;
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', program, directory], {
    encoding: 'utf8',
  });
  expect(ended).toMatchObject({ status: 3, stderr: 'the last words\n' });
  expect(readFileSync(logFile(directory), 'utf8')).toBe('the last words\n');
});
