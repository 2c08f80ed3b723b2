import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../main/config/load.ts';
import { ENTRIES, ENV_PREFIX, valueAt } from '../../main/config/schema.ts';
import { logTarget } from '../../main/cli/log-target.ts';
import { temporaryDirectory } from '../support/gateway.ts';

const ROOT = join(import.meta.dirname, '../..');
const containerfile = readFileSync(join(ROOT, 'deploy/Containerfile'), 'utf8');
const compose = readFileSync(join(ROOT, 'deploy/compose.yaml'), 'utf8');
const poolCompose = readFileSync(join(ROOT, 'deploy/pool.compose.yaml'), 'utf8');

/** The variables that the image sets. */
const variables = Object.fromEntries(
  [...containerfile.matchAll(/^ +(SWITCHYARD_\w+)=(\S+)/gm)].map(([, name = '', value = '']) => [
    name,
    value,
  ]),
);

test('the image and the compose files set only variables that there are', () => {
  const known = ['DATA_DIR', ...ENTRIES.map(({ setting }) => setting.env)];
  const used = new Set(
    [...(containerfile + compose + poolCompose).matchAll(/SWITCHYARD_([A-Z_]+)/g)].map(
      ([, name = '']) => name,
    ),
  );
  expect(used.size).toBeGreaterThan(4);
  expect([...used].filter((name) => !known.includes(name))).toEqual([]);
});

test('the image serves the network, so it starts only with a key, and logs JSON on standard output', () => {
  const without = loadConfig(variables, {});
  expect(without).toMatchObject({ kind: 'refused' });
  const loaded = loadConfig({ ...variables, SWITCHYARD_API_KEYS: 'a-key-for-this-test' }, {});
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  expect(logTarget(loaded.config.gateway, 'other')).toEqual({ to: 'stdout', format: 'json' });
  expect(loaded.warnings).toEqual([]);
});

test('the image runs as a user without rights, keeps its data in a volume, and is asked on its own port', () => {
  const lines = containerfile.split('\n');
  for (const line of ['USER node', 'VOLUME /data', 'CMD ["switchyard", "start"]']) {
    expect(lines).toContain(line);
  }
  const port = ENTRIES.find(({ path }) => path === 'gateway.port');
  const loaded = loadConfig({}, {});
  if (port === undefined || loaded.kind === 'refused') throw new Error('no port');
  const value = String(valueAt(loaded.config, port));
  expect(containerfile).toContain(`EXPOSE ${value}`);
  expect(containerfile).toContain(`http://127.0.0.1:${value}/readyz`);
  expect(compose).toContain(`http://switchyard:${value}/v1`);
  expect(compose).toContain(`${ENV_PREFIX}ALLOWED_HOSTS: switchyard`);
});

test('the gateways of the compose file share a database and a secret, and refuse to start without a password', () => {
  expect(poolCompose.match(/<<: \*gateway/g)).toHaveLength(2);
  const [, address = ''] = /DATABASE_URL: (\S+:\?[^}]+}\S+)/.exec(poolCompose) ?? [];
  const url = address.replace(/\$\{[^}]+}/, 'password');
  const env = { SWITCHYARD_DATABASE_URL: url };
  expect(loadConfig(env, {})).toMatchObject({ config: { gateway: { databaseUrl: url } } });
  expect(poolCompose).toContain('target: /data/gateway-secret');
});

const BUILDER = ['podman', 'buildah'].find(
  (tool) => spawnSync(tool, ['--version']).error === undefined,
);

test.runIf(BUILDER !== undefined)(
  'the image can be built from the package',
  () => {
    const tool = BUILDER ?? '';
    const context = temporaryDirectory();
    cpSync(join(ROOT, 'deploy/Containerfile'), join(context, 'Containerfile'));
    execFileSync('npm', ['pack', '--pack-destination', context], { cwd: ROOT });
    expect(globSync('*.tgz', { cwd: context })).toHaveLength(1);
    const tag = `switchyard-test-${process.pid}`;
    execFileSync(tool, ['build', '-t', tag, '-f', 'Containerfile', context], { cwd: context });
    onTestFinished(() => void spawnSync(tool, ['rmi', tag]));
    if (tool !== 'podman') return;
    const version = execFileSync(tool, ['run', '--rm', tag, 'switchyard', '--version']);
    expect(version.toString()).toMatch(/^\d+\.\d+\.\d+\n$/);
  },
  900_000,
);
