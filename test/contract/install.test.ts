import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { InstallLines } from '#shared/install.ts';
import { unixInstaller } from '../../main/gateway/install/unix.ts';
import { readControlToken } from '../../main/platform/secrets.ts';
import { startGateway } from '../support/gateway.ts';
import { bearer, expectError, send } from '../support/http.ts';

const SHARED = { HOST: '0.0.0.0', API_KEYS: 'a-key-of-my-own-0123456789' };
const PATHS = ['/install', '/install.ps1', '/install/package.tgz', '/api/v1/install'];
const TOKEN = 'a'.repeat(64);

test.each(PATHS)('%s is refused on loopback, with the step that changes it', async (path) => {
  const { url, dataDirectory } = await startGateway({});
  const headers = bearer(readControlToken(dataDirectory) ?? '');
  const message = expectError(await send(url + path, { headers }), 409, 'not_shared');
  expect(message).toMatch(/SWITCHYARD_HOST.*SWITCHYARD_API_KEYS.*restart/);
});

test('installers name the address they came from, and the digest of the package that is served', async () => {
  const { url } = await startGateway(SHARED);
  const { text: unix } = await send(`${url}/install`);
  const { text: windows } = await send(`${url}/install.ps1`);
  const tarball = await fetch(`${url}/install/package.tgz`);
  const digest = hash('sha256', Buffer.from(await tarball.arrayBuffer()));
  for (const text of [unix, windows]) {
    expect(text).toContain(url);
    expect(text).toContain(digest);
  }
});

test('the lines of the window are for control, and name the digest of what they run', async () => {
  const { url, dataDirectory } = await startGateway(SHARED);
  expectError(await send(`${url}/api/v1/install`), 401, 'control_required');
  const headers = bearer(readControlToken(dataDirectory) ?? '');
  const lines = JSON.parse((await send(`${url}/api/v1/install`, { headers })).text) as InstallLines;
  expect(lines.unix.line).toMatch(/^curl -fsS http:\S+\/install \| sh -s -- <token>$/);
  expect(lines.windows.line).toContain('/install.ps1');
  const outside = new URL(/http:\S+/.exec(lines.unix.line)?.[0] ?? '').origin;
  const { text } = await send(`${outside}/install`);
  expect(lines.unix.sha256).toBe(hash('sha256', text));
});

const INSTALLER = unixInstaller({
  url: 'http://127.0.0.1:9',
  name: 'switchyard-gateway',
  version: '0.1.0',
  sha256: '0'.repeat(64),
});

/** Runs the installer as `curl … | sh -s --` would. */
function install(args: readonly string[], path = process.env['PATH']) {
  const env = { PATH: path, HOME: '/nonexistent' };
  const { status, stderr } = spawnSync('/bin/sh', ['-s', '--', ...args], {
    input: INSTALLER,
    env,
    encoding: 'utf8',
  });
  return [status, stderr.trim()];
}

test.runIf(process.platform !== 'win32').each([
  ['without a token', [], /token is missing/],
  ['with an unknown option', [TOKEN, '--force'], /Unknown option --force/],
  ['where the gateway is gone', [TOKEN, '--as-root'], /could not be fetched from http/],
] as const)('the installer ends %s, and says why', (_case, args, words) => {
  const [status, said] = install(args);
  expect([status, said]).toEqual([1, expect.stringMatching(words)]);
});

test.runIf(process.getuid?.() === 0)('the installer refuses root that was not asked for', () => {
  expect(install([TOKEN])).toEqual([1, expect.stringContaining('not as root')]);
});

test.runIf(process.platform !== 'win32')('half of an installer does nothing', () => {
  const half = INSTALLER.slice(0, INSTALLER.lastIndexOf('main "$@"'));
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-s', '--', TOKEN], {
    input: half,
    encoding: 'utf8',
  });
  expect([status, stdout, stderr]).toEqual([0, '', '']);
});
