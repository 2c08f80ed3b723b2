import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { logTarget, type StderrReader, stderrReaderOf } from '../../main/cli/logs.ts';
import { HELLO } from '../support/client.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { postJson } from '../support/http.ts';
import { sayHere } from '../support/owned-gateway.ts';
import { startCli } from '../support/process.ts';
import { soon } from '../support/two-hosts.ts';

test.each<[StderrReader, to: string, format: string]>([
  ['journal', 'stderr', 'journal'],
  ['container', 'stderr', 'text'],
  ['other', 'file', 'json'],
])('the log of a %s goes to %s as %s by default', (reader, to, format) => {
  expect(logTarget({ logTo: 'auto', logFormat: 'auto' }, reader)).toEqual({ to, format });
});

test('the log settings apply wherever the gateway runs', () => {
  for (const reader of ['journal', 'container', 'other'] as const)
    for (const [to, logFormat] of [
      ['stdout', 'json'],
      ['file', 'auto'],
    ] as const)
      expect(logTarget({ logTo: to, logFormat }, reader)).toEqual({ to, format: 'json' });
});

test('the log in a container is what process 1 writes, even if that is an init', () => {
  const at = (stderr: string, firstStderr: string | null) =>
    stderrReaderOf({ env: {}, pid: 7, stderr, firstStderr });
  expect(at('8:4711', '8:4711')).toBe('container');
  // A shell in the container that sends the output elsewhere.
  expect(at('8:42', '8:4711')).toBe('other');
  expect(at('8:42', null)).toBe('other');
});

test('the journal counts only if it reads our own standard error', () => {
  const at = (env: Record<string, string>, pid = 100) =>
    stderrReaderOf({ env, pid, stderr: '8:4711', firstStderr: null });
  expect(at({ JOURNAL_STREAM: '8:4711' })).toBe('journal');
  expect(at({ JOURNAL_STREAM: '8:42' })).toBe('other');
  expect(at({})).toBe('other');
  expect(at({ container: 'podman' })).toBe('container');
  expect(at({}, 1)).toBe('container');
});

test('the log on standard output is JSON in every line, and has no sign-in link', async () => {
  const DATA_DIR = temporaryDirectory();
  const cli = startCli({ DATA_DIR, PORT: '0', LOG_TO: 'stdout', LOG_FORMAT: 'json', AGNT: '1' });
  const url = await cli.printed(/"event":"started","url":"([^"]+)"/);
  await soon(async () => expect((await sayHere({ DATA_DIR }, 'models')).code).toBe(0));
  expect((await postJson(`${url}/v1/chat/completions`, HELLO)).status).toBe(503);
  await cli.printed(/"event":"request"/);
  cli.kill('SIGTERM');
  const { code, stdout, stderr } = await cli.ended;
  expect([code, stderr]).toEqual([0, '']);
  const lines = stdout.trimEnd().split('\n');
  const events = lines.map((line) => (JSON.parse(line) as { event: string }).event);
  expect(events).toContain('INGLENOOK_AGNT is not a setting of this version and is ignored');
  expect(events.at(0)).toBe('starting');
  expect(stdout).not.toContain('#code=');
  expect(existsSync(join(DATA_DIR, 'logs'))).toBe(false);
  expect(readdirSync(DATA_DIR)).toContain('control-token');
});

test('the log on standard error has nothing else around it, and the terminal still gets its sentences', async () => {
  const settings = { DATA_DIR: temporaryDirectory(), PORT: '0', AGNT: '1' };
  const cli = startCli({ ...settings, LOG_TO: 'stderr', LOG_FORMAT: 'text' });
  await cli.printed(/Dashboard: \S+#code=/);
  cli.kill('SIGTERM');
  const { stderr } = await cli.ended;
  const lines = stderr.trimEnd().split('\n');
  expect(lines.filter((each) => !/^\S+Z (info|warn) {1,2}\S/.test(each))).toEqual([]);
  expect(stderr).toMatch(/starting.*\n.*INGLENOOK_AGNT is not a setting/);
});
