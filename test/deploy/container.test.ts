import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../main/config/load.ts';
import { ENTRIES, ENV_PREFIX, valueAt } from '../../main/config/schema.ts';
import { logTarget } from '../../main/cli/logs.ts';
import { HELLO } from '../support/client.ts';
import { freePort } from '../support/free-port.ts';
import { bearer, postJson } from '../support/http.ts';
import { asVariables, configOf, loadedOf } from '../support/config.ts';
import { spawnProgram } from '../support/process.ts';
import { answers, startUpstream } from '../support/upstream.ts';
import { buildImage, CHROOT, TAG } from './image.ts';

const ROOT = join(import.meta.dirname, '../..');
const containerfile = readFileSync(join(ROOT, 'deploy/Containerfile'), 'utf8');
const compose = readFileSync(join(ROOT, 'deploy/compose.yaml'), 'utf8');
const poolCompose = readFileSync(join(ROOT, 'deploy/pool.compose.yaml'), 'utf8');

/** The variables that the image sets. */
const variables = Object.fromEntries(
  [...containerfile.matchAll(/^ +(INGLENOOK_\w+)=(\S+)/gm)].map(([, name = '', value = '']) => [
    name,
    value,
  ]),
);

test('the image and the compose files set only variables that exist', () => {
  const known = ['INGLENOOK_DATA_DIR', ...ENTRIES.map(({ variable }) => variable)];
  const used = new Set(
    [...(containerfile + compose + poolCompose).matchAll(/INGLENOOK_[A-Z_]+/g)].map(String),
  );
  expect(used.size).toBeGreaterThan(4);
  expect([...used].filter((name) => !known.includes(name))).toEqual([]);
});

test('the image serves the network, so it starts only with a key, and logs JSON on standard output', () => {
  const without = loadConfig(variables, {});
  expect(without).toMatchObject({ kind: 'refused' });
  const loaded = loadedOf({ ...variables, INGLENOOK_API_KEYS: 'a-key-for-this-test' });
  expect(logTarget(loaded.config.gateway, 'other')).toEqual({ to: 'stdout', format: 'json' });
  expect(loaded.warnings).toEqual([]);
});

test('the image runs as an unprivileged user, keeps its data in a volume, and is checked on its own port', () => {
  const lines = containerfile.split('\n');
  for (const line of ['USER node', 'VOLUME /data', 'CMD ["inglenook", "start"]'])
    expect(lines).toContain(line);
  const port = ENTRIES.find(({ path }) => path === 'gateway.port');
  if (port === undefined) throw new Error('no port');
  const value = String(valueAt(configOf({}), port));
  expect(containerfile).toContain(`EXPOSE ${value}`);
  expect(containerfile).toContain(`(process.env.INGLENOOK_PORT || ${value}) + '/readyz'`);
  expect(compose).toContain(`http://inglenook:${value}/v1`);
  expect(compose).toContain(`${ENV_PREFIX}ALLOWED_HOSTS: inglenook`);
});

test('the gateways of the compose file share a database and a secret, and refuse to start without a password', () => {
  expect(poolCompose.match(/<<: \*gateway/g)).toHaveLength(2);
  const [, address = ''] = /DATABASE_URL: (\S+:\?[^}]+}\S+)/.exec(poolCompose) ?? [];
  const url = address.replace(/\$\{[^}]+}/, 'password');
  const env = { INGLENOOK_DATABASE_URL: url };
  expect(loadConfig(env, {})).toMatchObject({ config: { gateway: { databaseUrl: url } } });
  expect(poolCompose).toMatch(/POOL_SECRET: \$\{INGLENOOK_POOL_SECRET:\?/);
});

const KEY = 'a-key-for-this-test';
const TOOLS = ['buildah', 'podman'].filter(
  (tool) => spawnSync(tool, ['--version']).error === undefined,
);

/** Both tools work on the same store. */
const image = builtImage();

/** Why there is none here, or what was built. */
function builtImage(): string | ReturnType<typeof buildImage> {
  const [tool] = TOOLS;
  if (tool === undefined) return 'neither buildah nor podman is installed';
  if (!existsSync('/etc/debian_version')) return 'its base is made of a Debian';
  const built = buildImage(tool);
  return built.offline ?? built;
}

test('a built image serves as its user, reports its health, logs JSON and stops', async (ctx) => {
  if (typeof image === 'string') return ctx.skip(image);
  const { run, store } = image;
  // The OCI format would leave it out.
  expect(run('inspect', '--type', 'image', TAG)).toMatch(/"?Healthcheck.*readyz/s);
  if (!TOOLS.includes('buildah')) return;

  const upstream = await startUpstream(answers('hi'));
  const container = run('from', TAG);
  const settings = { PORT: '0', API_KEYS: KEY, HOSTED_A_BASE_URL: upstream.url };
  const env = Object.entries(asVariables(settings)).map(([name, value]) => `-e=${name}=${value}`);
  const start = [...store, 'run', ...CHROOT, ...env];
  const command = [container, '--', 'inglenook', 'start'];
  const served = spawnProgram(['buildah', ...start, ...command], process.env);
  const pid = Number(await served.printed(/"event":"starting".*"pid":(\d+)/));
  let isServing = true;
  onTestFinished(() => void (isServing && process.kill(pid, 'SIGKILL')));
  const url = await served.printed(/"event":"started","url":"([^"]+)"/);
  expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^Uid:\t1000\t1000/m);
  const chat = await postJson(`${url}/v1/chat/completions`, HELLO, bearer(KEY));
  expect(chat.headers['x-gateway-upstream']).toBe('hosted_a');

  const [, text = ''] = /HEALTHCHECK .*\n +CMD (\[.*\])/.exec(containerfile) ?? [];
  const check = JSON.parse(text) as string[];
  const isHealthyAt = (port: string) => {
    const given = [`-e=${ENV_PREFIX}PORT=${port}`, container, '--', ...check];
    return spawnSync('buildah', [...start, ...given]).status === 0;
  };
  expect([isHealthyAt(new URL(url).port), isHealthyAt('1')]).toEqual([true, false]);

  process.kill(pid, 'SIGTERM');
  const ended = await served.ended;
  isServing = false;
  expect([ended.code, ended.stderr]).toEqual([0, '']);
  const lines = ended.stdout.trim().split('\n');
  const events = lines.map((line) => (JSON.parse(line) as { event: string }).event);
  expect(events).toEqual(expect.arrayContaining(['starting', 'started', 'request']));
}, 300_000);

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
  if (typeof image === 'string') return ctx.skip(image);
  if (!TOOLS.includes('podman')) return ctx.skip('podman is not installed');
  const flags = findRuntime(image.store);
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
  podman('exec', 'first', 'inglenook', 'keys', 'add', 'laptop');
  podman('stop', 'first');
  expect((await first.ended).code).toBe(0);
  podman('rm', 'first');

  await start('second');
  expect(podman('exec', 'second', 'inglenook', 'keys', 'list')).toContain('laptop');
  podman('stop', 'second');
}, 300_000);
