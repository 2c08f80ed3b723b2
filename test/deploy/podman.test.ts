import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { HELLO } from '../support/client.ts';
import { bearer, postJson } from '../support/http.ts';
import { freePort } from '../support/free-port.ts';
import { asVariables, spawnProgram } from '../support/process.ts';
import { answers, startUpstream } from '../support/upstream.ts';
import { buildImage, TAG } from './image.ts';

const KEY = 'a-key-for-this-test';

// Podman's defaults ask for more open files and processes than a confined root may set.
const LIMITS = ['--ulimit=nofile=4096:4096', '--ulimit=nproc=4096:4096'];
// Podman mounts what Docker does not: without this option, a /tmp to write to.
const CONFINED = ['--read-only', '--read-only-tmpfs=false', '--cap-drop=all', '--user=12345:12345'];

/** The first runtime with which podman starts the image here, or why none does. */
function findRuntime(store: readonly string[]) {
  const tries = ['crun', 'runc'].map((runtime) => {
    const flags = [...store, '--runtime', runtime, '--cgroup-manager=cgroupfs'];
    const run = ['run', '--rm', '--network=host', '--no-healthcheck', ...LIMITS, TAG];
    const { status, stderr } = spawnSync('podman', [...flags, ...run, 'node', '-v'], {
      encoding: 'utf8',
    });
    return { flags, status, stderr };
  });
  const found = tries.find(({ status }) => status === 0);
  return found?.flags ?? tries.map(({ stderr }) => stderr.trim()).join('; ');
}

test('the image serves from a read-only root as any user, and its volume survives the container', async (ctx) => {
  if (spawnSync('podman', ['--version']).error !== undefined)
    return ctx.skip('podman is not installed');
  if (!existsSync('/etc/debian_version')) return ctx.skip('its base is made of a Debian');
  const { store, offline } = buildImage('podman');
  if (offline !== null) return ctx.skip(offline);
  const flags = findRuntime(store);
  if (typeof flags === 'string') return ctx.skip(`podman starts no container here: ${flags}`);

  const podman = (...args: readonly string[]) =>
    execFileSync('podman', [...flags, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
  const upstream = await startUpstream(answers('hi'));
  const port = await freePort();
  const settings = { PORT: `${port}`, API_KEYS: KEY, HOSTED_A_BASE_URL: upstream.url };
  const env = Object.entries(asVariables(settings)).map(([name, value]) => `-e=${name}=${value}`);
  const start = async (name: string) => {
    const options = [`--name=${name}`, '--volume=kept:/data', '--network=host', ...CONFINED];
    podman('create', ...options, ...LIMITS, ...env, TAG);
    onTestFinished(() => void podman('rm', '--force', '--time=0', '--ignore', name));
    const served = spawnProgram(['podman', ...flags, 'start', '--attach', name], process.env);
    await served.printed(/"event":"started"/);
    return served;
  };

  const first = await start('first');
  const chat = await postJson(`http://127.0.0.1:${port}/v1/chat/completions`, HELLO, bearer(KEY));
  expect(chat.headers['x-gateway-upstream']).toBe('hosted_a');
  podman('healthcheck', 'run', 'first');
  podman('exec', 'first', 'switchyard', 'keys', 'add', 'laptop');
  podman('stop', 'first');
  expect((await first.ended).code).toBe(0);
  podman('rm', 'first');

  await start('second');
  expect(podman('exec', 'second', 'switchyard', 'keys', 'list')).toContain('laptop');
  podman('stop', 'second');
}, 300_000);
