import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { InstallLines } from '#shared/install.ts';
import { unixInstaller } from '../../main/gateway/api/install-routes.ts';
import { startControlled } from '../support/control.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { expectError, postJson, send } from '../support/http.ts';

const SHARED = { HOST: '0.0.0.0', API_KEYS: 'a-key-of-my-own-0123456789' };
const PATHS = ['/install', '/install.ps1', '/install/package.tgz', '/api/v1/install'];
const TOKEN = 'a'.repeat(64);

test.each(PATHS)(
  'the route %s is refused on loopback, with the step that changes it',
  async (path) => {
    const { url, control } = await startControlled({});
    const message = expectError(await send(url + path, { headers: control }), 409, 'not_shared');
    expect(message).toMatch(/keys add.*gateway\.host.*restart/);
  },
);

test('installers and the lines of the dashboard name the address they came from and digests of what they run', async () => {
  const { url, control } = await startControlled({ ...SHARED, ALLOWED_HOSTS: 'gateway.example' });
  const { text: unix } = await send(`${url}/install`);
  const { text: windows } = await send(`${url}/install.ps1`);
  const tarball = await fetch(`${url}/install/package.tgz`);
  const digest = hash('sha256', Buffer.from(await tarball.arrayBuffer()));
  for (const text of [unix, windows]) {
    expect(text).toContain(url);
    expect(text).toContain(digest);
  }

  expectError(await send(`${url}/api/v1/install`), 401, 'control_required');
  const linesFor = async (headers: Readonly<Record<string, string>>) =>
    JSON.parse((await send(`${url}/api/v1/install`, { headers })).text) as InstallLines;
  const lines = await linesFor(control);
  expect(lines.unix.line).toMatch(/^curl -fsS http:\S+\/install \| sh -s -- <token>$/);
  expect(lines.windows.line).toContain('/install.ps1');
  const outside = new URL(/http:\S+/.exec(lines.unix.line)?.[0] ?? '').origin;
  const { text } = await send(`${outside}/install`);
  expect(lines.unix.sha256).toBe(hash('sha256', text));

  // Behind a proxy that ends TLS: its name and scheme.
  const proxied = { host: 'gateway.example', 'x-forwarded-proto': 'https' };
  const headers = { ...proxied, ...control };
  const script = await send(`${url}/install`, { headers: proxied });
  expect(script.text).toContain("gateway='https://gateway.example'");
  expect((await linesFor(headers)).unix).toEqual({
    line: 'curl -fsS https://gateway.example/install | sh -s -- <token>',
    sha256: hash('sha256', script.text),
  });
  const enrolled = await postJson(`${url}/api/v1/providers/enrollments`, {}, headers);
  expect(enrolled.text).toContain('inglenook join https://gateway.example ');
});

const NOWHERE = { url: 'http://127.0.0.1:9', name: 'inglenook', version: '0.1.0' };
const INSTALLER = unixInstaller({ ...NOWHERE, sha256: '0'.repeat(64) });

/** Runs the installer as `curl … | sh -s --` would. */
function install(args: readonly string[]) {
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  const { status, stderr } = spawnSync('/bin/sh', ['-s', '--', ...args], {
    input: INSTALLER,
    env: { PATH: path, HOME: '/nonexistent' },
    encoding: 'utf8',
  });
  return [status, stderr.trim()];
}

test.runIf(process.platform !== 'win32').each([
  ['without a token', [], /token is missing/],
  ['with half of a token', [TOKEN.slice(0, 40)], /token is missing or incomplete/],
  ['with an unknown option', [TOKEN, '--force'], /Unknown option --force/],
  ['where the gateway is gone', [TOKEN, '--as-root'], /could not be fetched from http/],
] as const)('the installer ends %s, and says why', (_case, args, words) => {
  const [status, said] = install(args);
  expect([status, said]).toEqual([1, expect.stringMatching(words)]);
});

/** Stands in for the network, npm's registry and a machine with or without systemd; Node is real. */
function machine(serviceCode: number) {
  const directory = temporaryDirectory();
  const tool = (name: string, ...lines: readonly string[]) => {
    const file = join(directory, name);
    writeFileSync(file, ['#!/bin/sh', ...lines, ''].join('\n'));
    chmodSync(file, 0o755);
    return file;
  };
  const program = tool('program', 'echo "ran $*"', `[ "$1" != service ] || exit ${serviceCode}`);
  tool('curl', 'printf package');
  tool('npm', 'mkdir -p "$4/bin"', `cp ${program} "$4/bin/inglenook"`);
  symlinkSync(process.execPath, join(directory, 'node'));
  const script = unixInstaller({ ...NOWHERE, sha256: hash('sha256', 'package') });
  const run = (...options: readonly string[]) => {
    const args = ['-w', '/bin/sh', '-s', '--', TOKEN, '--as-root', ...options];
    // Without a terminal that it could ask on.
    const { status, stdout, stderr } = spawnSync('setsid', args, {
      input: script,
      env: { PATH: `${directory}:/usr/bin:/bin`, HOME: directory },
      encoding: 'utf8',
    });
    return { status, said: `${stdout}${stderr}`.split('\n').filter((line) => line !== '') };
  };
  return { command: join(directory, '.local/bin/inglenook'), run };
}

const HAS_SETSID = spawnSync('setsid', ['--version']).error === undefined;

test.runIf(HAS_SETSID)(
  'the installer installs a service only on request, and says how to start',
  () => {
    const { command, run } = machine(0);
    const { status, said } = run();
    expect(status).toBe(0);
    expect(said).toContain(`ran join http://127.0.0.1:9 ${TOKEN}`);
    expect(said).toContainEqual(expect.stringContaining(`To start it: ${command} start.`));
    expect(said).not.toContain('ran service install');
    const asked = run('--service');
    expect([asked.status, asked.said.includes('ran service install')]).toEqual([0, true]);
    expect(asked.said.join()).not.toContain('To start it');
  },
);

test.runIf(HAS_SETSID)(
  'the installer still says how to start if no service can be installed',
  () => {
    const { command, run } = machine(1);
    const { status, said } = run('--service');
    expect(status).toBe(1);
    expect(said.at(-2)).toBe(
      `This machine has joined, but has no service. To start it: ${command} start`,
    );
    expect(said.at(-1)).toMatch(/^Add .* to your PATH/);
  },
);

test.runIf(process.getuid?.() === 0)('the installer refuses to run as root unless asked to', () => {
  expect(install([TOKEN])).toEqual([1, expect.stringContaining('not as root')]);
});

test.runIf(process.platform !== 'win32')('half of an installer script does nothing', () => {
  const half = INSTALLER.slice(0, INSTALLER.lastIndexOf('main "$@"'));
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-s', '--', TOKEN], {
    input: half,
    encoding: 'utf8',
  });
  expect([status, stdout, stderr]).toEqual([0, '', '']);
});
