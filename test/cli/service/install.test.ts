import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join, relative, resolve } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { temporaryDirectory } from '../../support/gateway.ts';
import { sayHere, startStandIn, writeOwner } from '../../support/owned-gateway.ts';
import { startProgram } from '../../support/process.ts';

/** A home, and a systemctl that writes down its calls and ends a call with the code that a file names for it. */
function home() {
  const directory = temporaryDirectory();
  const tools = join(directory, 'tools');
  const calls = join(directory, 'calls');
  const code = join(directory, 'code');
  mkdirSync(tools);
  writeFileSync(code, '0\n');
  writeFileSync(
    join(tools, 'systemctl'),
    `#!/bin/sh\necho "$*" >> ${calls}\nread code call < ${code}\ncase "$*" in *"$call"*) ;; *) exit 0 ;; esac\n[ $code = 0 ] || echo "Failed to connect to bus" >&2\nexit $code\n`,
  );
  chmodSync(join(tools, 'systemctl'), 0o755);
  const env = {
    HOME: directory,
    PATH: `${tools}${delimiter}${process.env['PATH'] ?? ''}`,
    INGLENOOK_DATA_DIR: join(directory, 'data'),
  };
  vi.stubEnv('HOME', env.HOME);
  vi.stubEnv('PATH', env.PATH);
  onTestFinished(() => void vi.unstubAllEnvs());
  return {
    unit: join(directory, '.config/systemd/user/inglenook.service'),
    dataDirectory: env.INGLENOOK_DATA_DIR,
    /** As a program of its own. */
    start: (...args: readonly string[]) => startProgram(env, 'service', ...args).ended,
    run: (...args: readonly string[]) =>
      sayHere({ DATA_DIR: env.INGLENOOK_DATA_DIR }, 'service', ...args),
    uninstall: () => startProgram(env, 'uninstall').ended,
    calls: () => (existsSync(calls) ? readFileSync(calls, 'utf8').trimEnd().split('\n') : []),
    endsWith: (status: number, call = '') => writeFileSync(code, `${status} ${call}\n`),
  };
}

const isLinux = process.platform === 'linux';

describe.runIf(isLinux)('the service of systemd', () => {
  test('uninstalling removes the service of this program, and none of another one', async () => {
    const { unit, start, uninstall, calls } = home();
    await start('install');
    // A checkout is not deleted, but its service goes.
    expect((await uninstall()).stderr).toContain('delete that folder yourself');
    expect(existsSync(unit)).toBe(false);
    expect(calls()).toContain('--user disable --now inglenook.service');
    writeFileSync(unit, 'ExecStart="/usr/bin/node" "/opt/other/headless.js" "start"');
    await uninstall();
    expect(existsSync(unit)).toBe(true);
  }, 120_000);

  test('install writes the unit and starts it; status and remove know it', async () => {
    const { unit, start, run, calls, endsWith, dataDirectory } = home();
    const before = await run('status');
    expect([before.code, before.stdout]).toEqual([1, 'The service is not installed.\n']);
    const { code, stdout, stderr } = await start('install');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`Installed ${unit}; the service is running.`);
    expect(stdout).toContain('loginctl enable-linger');
    expect(readFileSync(unit, 'utf8')).toContain(`INGLENOOK_DATA_DIR=${dataDirectory}`);
    expect(readFileSync(unit, 'utf8')).toMatch(/^ExecStart=".*node" ".*headless\.js" "start"$/m);
    expect(calls()).toEqual([
      '--user show-environment',
      '--user daemon-reload',
      '--user enable inglenook.service',
      '--user restart inglenook.service',
    ]);
    const json = JSON.parse((await run('status', '--json')).stdout) as object;
    expect(json).toEqual({ file: unit, isInstalled: true, isRunning: true });
    endsWith(3);
    expect(await run('status')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('not running: see journalctl --user -u inglenook'),
    });
    endsWith(0);
    expect((await run('remove')).stdout).toContain(`Removed ${unit}.`);
    expect(existsSync(unit)).toBe(false);
    expect(calls().at(-1)).toBe('--user disable --now inglenook.service');
    expect(await run('remove')).toMatchObject({ code: 0 });
  });

  test('a complaint of systemctl is printed with its command line', async () => {
    const { unit, run, endsWith } = home();
    endsWith(1, 'daemon-reload');
    const { code, stdout, stderr } = await run('install');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`${unit} is written, but the service does not start.`);
    expect(stderr).toContain(
      '"systemctl --user daemon-reload" failed (1): Failed to connect to bus',
    );
  });

  test('service install leaves nothing behind if systemd does not run', async () => {
    const { unit, run, endsWith } = home();
    endsWith(1);
    const { code, stdout, stderr } = await run('install');
    expect([code, stdout, existsSync(unit)]).toEqual([1, '', false]);
    expect(stderr).toContain('No service was installed, because systemd cannot be reached here.');
    expect(stderr).toContain('Failed to connect to bus');
    endsWith(0);
    await run('install');
    endsWith(1);
    expect(await run('remove')).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(unit)).toBe(false);
  });

  test('the command "service install --print" installs nothing', async () => {
    const { unit, run, calls } = home();
    const { code, stdout } = await run('install', '--print');
    expect([code, stdout]).toEqual([0, expect.stringContaining('KillMode=mixed')]);
    expect(existsSync(unit)).toBe(false);
    expect(calls()).toEqual([]);
  });

  test('the service gets the data directory that was meant at its installation', async () => {
    const { run } = home();
    const meant = relative(process.cwd(), join(temporaryDirectory(), 'data'));
    const printed = await sayHere({ DATA_DIR: meant }, 'service', 'install', '--print');
    expect(printed.stdout).toContain(`INGLENOOK_DATA_DIR=${resolve(meant)}"`);
    expect((await run('install', '--print')).stdout).not.toContain('..');
  });

  test('service install is refused while a gateway runs in a terminal', async () => {
    const { run, dataDirectory, calls } = home();
    mkdirSync(dataDirectory);
    await startStandIn(dataDirectory, (_req, res) => void res.end());
    const { code, stderr } = await run('install');
    expect([code, stderr]).toEqual([1, expect.stringContaining('A gateway is already running')]);
    expect(calls()).toEqual([]);
  });

  test('the files of a gateway that died do not count as a running one', async () => {
    const { run, dataDirectory, unit } = home();
    mkdirSync(dataDirectory);
    writeOwner(dataDirectory, { url: 'http://127.0.0.1:1' });
    writeFileSync(join(dataDirectory, 'control-token'), 'c'.repeat(64));
    expect(await run('install')).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(unit)).toBe(true);
  });
});
