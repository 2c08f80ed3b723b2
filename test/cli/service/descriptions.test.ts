import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  launchdPlist,
  launchdService,
  type Program,
  scheduledTask,
  taskXml,
  systemdUnit,
  systemdService,
} from '../../../main/cli/service/managers.ts';
import { temporaryDirectory } from '../../support/gateway.ts';

const PROGRAM: Program = {
  command: [process.execPath, '/opt/switch yard/main.js', 'start'],
  dataDirectory: '/data/100% & "mine"',
};

const has = (tool: string) => spawnSync(tool, ['--version']).error === undefined;

/** The objections of systemd to a unit; empty where it takes it. */
function verified(unit: string, ...scope: readonly string[]): string {
  const directory = temporaryDirectory();
  const file = join(directory, 'inglenook.service');
  writeFileSync(file, unit);
  mkdirSync(join(directory, 'runtime'));
  const env = { ...process.env, XDG_RUNTIME_DIR: join(directory, 'runtime') };
  const { status, stdout, stderr } = spawnSync('systemd-analyze', [...scope, 'verify', file], {
    encoding: 'utf8',
    env,
  });
  return `${status === 0 ? '' : `code ${status}: `}${stdout}${stderr}`;
}

test.runIf(has('systemd-analyze'))(
  'systemd-analyze finds no fault with the unit',
  () => {
    expect(verified(systemdUnit(PROGRAM), '--user')).toBe('');
    const wrong = systemdUnit(PROGRAM).replace('KillMode=mixed', 'KillMode=mxied');
    expect(verified(wrong, '--user')).toContain('mxied');
  },
  120_000,
);

test('words in a unit are quoted, so that blanks, percent signs and dollars stay as they are', () => {
  const command = ['/usr/bin/node', '/opt/a b/$HOME/%h/"q"\\.js', 'start'] as const;
  const unit = systemdUnit({ command, dataDirectory: '/data/50%' });
  expect(unit).toContain(
    String.raw`ExecStart="/usr/bin/node" "/opt/a b/$$HOME/%%h/\"q\"\\.js" "start"`,
  );
  expect(unit).toContain('Environment="INGLENOOK_DATA_DIR=/data/50%%"');
});

test('a service without a data directory of its own gets no environment', () => {
  const program = { ...PROGRAM, dataDirectory: null };
  expect(systemdUnit(program)).not.toContain('INGLENOOK_');
  expect(launchdPlist(program)).not.toContain('INGLENOOK_');
  expect(taskXml(program, 'ann')).not.toContain('INGLENOOK_');
});

const PLISTUTIL = has('plistutil');
if (!PLISTUTIL) console.log('SKIPPED: plistutil (libplist-utils) judges no property list here.');

/** A property list in another form, as libplist understood it; its objection where it takes none of it. */
function converted(plist: string | Buffer, form: 'bin' | 'xml'): Buffer {
  const { stdout, stderr } = spawnSync('plistutil', ['-i', '-', '-f', form], { input: plist });
  return stderr.length === 0 ? stdout : stderr;
}

test.runIf(PLISTUTIL)('libplist reads the whole property list, and none that is broken', () => {
  const plist = launchdPlist(PROGRAM);
  const readBack = converted(converted(plist, 'bin'), 'xml').toString();
  const packed = (text: string) => text.replaceAll(/\s*(<|>)\s*/g, '$1');
  expect(packed(readBack)).toBe(packed(plist));
  for (const [whole, broken] of [
    ['</array>', ''],
    ['<true/>', '<truth/>'],
  ] as const) {
    const objection = converted(plist.replace(whole, broken), 'bin').toString();
    expect(objection).toContain('Failed to convert');
  }
});

test.runIf(has('python3'))(
  'the property list for launchd is valid, with the program and its directory',
  () => {
    const script =
      'import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))';
    const read = execFileSync('python3', ['-c', script], {
      encoding: 'utf8',
      input: launchdPlist(PROGRAM),
    });
    expect(JSON.parse(read)).toMatchObject({
      Label: 'inglenook',
      ProgramArguments: PROGRAM.command,
      EnvironmentVariables: { INGLENOOK_DATA_DIR: PROGRAM.dataDirectory },
      RunAtLoad: true,
      KeepAlive: { SuccessfulExit: false },
    });
  },
);

test.runIf(has('python3'))(
  'the task for Windows is XML that names its user and has no time limit',
  () => {
    const script = `import sys, xml.etree.ElementTree as tree
root = tree.fromstring(sys.stdin.buffer.read().decode('utf-16'))
print('\\n'.join(each.tag.split('}')[1] + '=' + (each.text or '').strip() for each in root.iter()))`;
    const xml = Buffer.from(`\uFEFF${taskXml(PROGRAM, 'HOST\\ann & co')}`, 'utf16le');
    const read = execFileSync('python3', ['-c', script], { encoding: 'utf8', input: xml });
    const fields = read.split('\n');
    expect(fields).toContain('UserId=HOST\\ann & co');
    expect(fields).toContain('ExecutionTimeLimit=PT0S');
    expect(fields).toContain('Command=conhost.exe');
    expect(read).toContain('"/opt/switch yard/main.js" start');
  },
);

test('each service manager gets its file where it looks for it, under the name that all commands use', () => {
  const user = systemdService(PROGRAM, '/home/ann/.config');
  expect(user.file).toBe('/home/ann/.config/systemd/user/inglenook.service');
  const agent = launchdService(PROGRAM, '/Users/ann', 501, '/logs');
  expect(agent.file).toBe('/Users/ann/Library/LaunchAgents/inglenook.plist');
  expect(agent.install.at(-1)).toEqual(['launchctl', 'bootstrap', 'gui/501', agent.file]);
  expect(agent.remove).toEqual([['launchctl', 'bootout', 'gui/501/inglenook']]);
  const task = scheduledTask(PROGRAM, 'ann', 'C:\\Data');
  expect(task.file).toBe('C:\\Data\\service.xml');
  expect(task.install[0]).toContain(task.file);
});
