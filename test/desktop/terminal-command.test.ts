import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  commandWords,
  createTerminalCommand,
  refusedCommand,
} from '../../main/desktop/command-line.ts';
import { temporaryDirectory } from '../support/gateway.ts';

const PROGRAM = "/opt/it's/Inglenook";

function commandFor(given: Partial<Parameters<typeof createTerminalCommand>[0]> = {}) {
  const home = temporaryDirectory();
  const env = { HOME: home, LOCALAPPDATA: home, ...given.env };
  const rest = { platform: 'linux' as const, execPath: PROGRAM, ...given };
  const command = createTerminalCommand({ ...rest, env });
  if (command === null) throw new Error('there is no command');
  return command;
}

describe('the command for terminals', () => {
  test('an empty HOME is as good as unset for the command for terminals', () => {
    vi.stubEnv('HOME', '');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { file } = commandFor({ env: { HOME: '' } });
    expect(file).toBe(join(userInfo().homedir, '.local/bin/inglenook'));
  });

  test('the command for terminals is a file that runs the app’s own program, without a screen', () => {
    const command = commandFor();
    expect(command.isOn()).toBe(false);
    command.set(true);
    expect(command.isOn()).toBe(true);
    expect(readFileSync(command.file, 'utf8')).toBe(
      String.raw`#!/bin/sh
exec '/opt/it'\''s/Inglenook' --ozone-platform=headless --cli -- "$@"
`,
    );
    expect(statSync(command.file).mode & 0o777).toBe(0o755);
    command.set(false);
    expect(command.isOn()).toBe(false);
  });

  test('the command for terminals is off when it runs another program than this one', () => {
    const env = { HOME: temporaryDirectory() };
    commandFor({ env, execPath: '/old/Inglenook' }).set(true);
    expect(commandFor({ env }).isOn()).toBe(false);
  });

  test('the command for terminals is off where something unreadable has its place', () => {
    const command = commandFor();
    mkdirSync(command.file, { recursive: true });
    expect(command.isOn()).toBe(false);
  });

  test('the command for terminals runs the AppImage, not the mount that it runs from', () => {
    const command = commandFor({ env: { APPIMAGE: '/home/a/Inglenook.AppImage' } });
    command.set(true);
    expect(readFileSync(command.file, 'utf8')).toContain("exec '/home/a/Inglenook.AppImage' --");
  });

  test('the command for terminals is one of cmd.exe on Windows, in a folder that is on PATH there', () => {
    const command = commandFor({ platform: 'win32', execPath: String.raw`C:\100% own\S.exe` });
    expect(command.file).toMatch(/WindowsApps.inglenook\.cmd$/);
    command.set(true);
    expect(readFileSync(command.file, 'utf8')).toBe(
      '@"C:\\100%% own\\S.exe" --ozone-platform=headless --cli -- %*\r\n',
    );
  });

  test('the command for terminals is brought by the deb and rpm packages', () => {
    const execPath = '/opt/Inglenook/inglenook-desktop';
    expect(createTerminalCommand({ platform: 'linux', env: {}, execPath })).toBeNull();
    const brought = join(import.meta.dirname, '../../deploy/desktop/inglenook');
    expect(readFileSync(brought, 'utf8')).toContain(
      `exec '${execPath}' --ozone-platform=headless --cli -- "$@"`,
    );
  });
});

describe('command lines of the app', () => {
  test('a command line is one for the CLI only behind its switch, and its words are left as they are', () => {
    expect(commandWords(['inglenook', '--hidden'])).toBeNull();
    expect(commandWords(['inglenook', '--cli', '--', 'status', '--json'])).toEqual([
      'status',
      '--json',
    ]);
    expect(commandWords(['inglenook', '--cli', '--', 'chat', '--', '-v'])).toEqual([
      'chat',
      '--',
      '-v',
    ]);
  });

  test.each([
    [['start'], 'The app is the gateway'],
    [[], 'The app is the gateway'],
    [['service', 'install'], 'Start at login'],
    [['uninstall'], 'like any other'],
  ])('the command line %j is refused with what to do instead', (words, why) => {
    expect(refusedCommand(words)).toContain(why);
  });

  test('a command line of every other command is run', () => {
    for (const words of [['status'], ['--help'], ['--version'], ['keys', 'add', 'start']]) {
      expect(refusedCommand(words)).toBeNull();
    }
  });
});
