import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CHAT, HELLO } from '../support/client.ts';
import { controlOf } from '../support/control.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { postJson, send } from '../support/http.ts';
import { startMachine } from '../support/agent-machine.ts';
import { PASSWORD, POSTGRES_SKIPPED, usePostgres } from '../support/postgres.ts';
import { startCli } from '../support/process.ts';
import { createLedger, enrol, post, type Registry, registryOf } from '../support/registry-load.ts';

const postgres = usePostgres();
const SECRET = 'a1'.repeat(32);

/** A gateway as a process. */
type Gateway = Awaited<ReturnType<typeof startGateway>>;

async function startGateway(databaseUrl: string) {
  const directory = temporaryDirectory();
  // As a container has it, outside the data directory.
  const file = join(temporaryDirectory(), 'pool-secret');
  writeFileSync(file, `${SECRET}\n`);
  const cli = startCli({
    PORT: '0',
    DATA_DIR: directory,
    DATABASE_URL: databaseUrl,
    POOL_SECRET_FILE: file,
  });
  const registry = await registryOf(cli, directory);
  const { status } = controlOf({ url: registry.url, dataDirectory: directory });
  return { cli, status, ...registry };
}

const upIn = async ({ url }: Registry) =>
  /^inglenook_pool_database_up (\d)$/m.exec((await send(`${url}/metrics`)).text)?.[1];

/** Asks both gateways again and again, and gives every status that was not 200. */
async function failedOf(...gateways: readonly Gateway[]): Promise<readonly number[]> {
  const asked = Array.from({ length: 10 }, () => gateways).flat();
  const answers = await Promise.all(asked.map(({ url }) => postJson(url + CHAT, HELLO)));
  return answers.map(({ status }) => status).filter((status) => status !== 200);
}

// The machine has a loopback address of its own, which only Linux has unasked.
describe.runIf(POSTGRES_SKIPPED === null && process.platform === 'linux')('two gateways', () => {
  test('a pool answers every request by a machine that joined at one gateway, while its database is away and after one gateway died', async () => {
    const url = await postgres.database();
    const [a, b] = await Promise.all([startGateway(url), startGateway(url)]);
    const machine = await startMachine('127.144.7.9');
    onTestFinished(() => machine.close());
    await enrol(a, createLedger(), machine.agent);
    const beatAt = async (gateway: Gateway) =>
      (await post(gateway, machine.agent.heartbeat(machine.record()))).status;
    expect(await beatAt(a)).toBe(200);
    const verifiedAt = async (gateway: Gateway) => (await gateway.status()).local.verified_count;
    for (const each of [a, b]) await expect.poll(() => verifiedAt(each)).toBe(1);
    expect(machine.inferences()).toBe(1);
    expect(await failedOf(a, b)).toEqual([]);
    expect([(await a.status()).pool, await upIn(a)]).toEqual([{ problem: null }, '1']);

    await postgres.kill();
    for (const each of [a, b])
      await expect.poll(async () => (await each.status()).pool?.problem).toContain('not answer');
    expect([await beatAt(a), await beatAt(b), await upIn(a)]).toEqual([503, 503, '0']);
    expect(await failedOf(a, b)).toEqual([]);

    await postgres.start();
    for (const each of [a, b])
      await expect.poll(async () => (await each.status()).pool?.problem).toBeNull();
    a.cli.kill('SIGKILL');
    await a.cli.ended;
    expect(await beatAt(b)).toBe(200);
    expect(await failedOf(b)).toEqual([]);

    b.cli.kill('SIGTERM');
    const said = JSON.stringify([await a.cli.ended, await b.cli.ended]);
    expect(said).not.toContain(PASSWORD);
    expect(await b.cli.ended).toMatchObject({ code: 0, stderr: '' });
  });
});
