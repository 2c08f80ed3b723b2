import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { StatusReport } from '#shared/status.ts';
import { createAgent } from '../registry/world.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { send } from '../support/http.ts';
import { PASSWORD, POSTGRES_SKIPPED, usePostgres } from '../support/postgres.ts';
import { sayHere } from '../support/owned-gateway.ts';
import { type RunningCli, startCli } from '../support/process.ts';
import { document, keep, openTestStore, put, storedProvider } from '../support/store.ts';
import {
  beat,
  createLedger,
  enrol,
  expectHeard,
  expectUsed,
  type Ledger,
  type Registry,
  registryOf,
  shown,
} from '../support/registry-load.ts';

const postgres = usePostgres();
const SECRET = 'a1'.repeat(32);

/** A gateway as a process, which keeps its directory over restarts. */
interface Gateway extends Registry {
  readonly cli: RunningCli;
  readonly directory: string;
}

async function startGateway(
  databaseUrl: string,
  directory = temporaryDirectory(),
): Promise<Gateway> {
  // As a container has it, outside the data directory.
  const file = join(temporaryDirectory(), 'pool-secret');
  writeFileSync(file, `${SECRET}\n`);
  const settings = {
    PORT: '0',
    DATA_DIR: directory,
    DATABASE_URL: databaseUrl,
    POOL_SECRET_FILE: file,
  };
  const cli = startCli(settings);
  return { cli, directory, ...(await registryOf(cli, directory)) };
}

async function statusOf({ url }: Registry): Promise<StatusReport> {
  return JSON.parse((await send(`${url}/api/v1/status`)).text) as StatusReport;
}

/** Holds a gateway to what another one has acknowledged. */
async function expectAllThere(registry: Registry, ledger: Ledger): Promise<void> {
  for (const machine of ledger.machines.values()) {
    const { agent, least } = machine;
    await expect
      .poll(async () => (await shown(registry, agent.id))?.heartbeat_count ?? 0)
      .toBeGreaterThanOrEqual(least);
    await expectHeard(registry, machine);
    await beat(registry, machine);
  }
  await expectUsed(registry, ledger);
}

/** Which run of which gateway may sweep, as the database has it. */
async function sweeperOf(url: string): Promise<string | undefined> {
  const [row] = await postgres.query<{ readonly holder: string }>(
    url,
    `SELECT holder FROM inglenook.leases WHERE name = 'sweep' AND until > clock_timestamp()`,
  );
  return row?.holder;
}

describe.runIf(POSTGRES_SKIPPED === null)('gateways that are processes', () => {
  test('the status report, the metrics and the command line say who is in the pool, and when the database is not', async () => {
    const url = await postgres.database();
    const [a, b] = await Promise.all([startGateway(url), startGateway(url)]);
    await expect
      .poll(async () => (await statusOf(a)).pool)
      .toMatchObject({ database: 'connected', problem: null, gateways: [{}, {}] });
    const asked = (...options: string[]) =>
      sayHere({ DATA_DIR: a.directory }, 'pool', 'status', ...options);
    const well = await asked();
    expect(well).toMatchObject({ code: 0, stderr: '' });
    expect(well.stdout).toMatch(/The database answers\.\nGateways, as of the last answer: 2\n/);
    expect(well.stdout).toMatch(/up to date, 0 machines, 0 verified by it, \d leases, 0 requests/);
    expect(well.stdout).toMatch(/Together: 0 requests, 0 answered, 0 tokens/);
    expect(well.stdout.match(/\(this one\)/g)).toHaveLength(1);

    await postgres.kill();
    await expect.poll(async () => (await statusOf(b)).pool?.database).toBe('away');
    await expect.poll(async () => (await statusOf(a)).pool?.database).toBe('away');
    const { text } = await send(`${a.url}/metrics`);
    expect(text).toMatch(/^inglenook_pool_database_up 0$/m);
    const unwell = await asked('--json');
    expect(unwell.code).toBe(1);
    expect(JSON.parse(unwell.stdout)).toMatchObject({
      database: 'away',
      problem: expect.stringContaining('does not answer'),
    });
    await postgres.start();
    await expect.poll(async () => (await statusOf(a)).pool?.database).toBe('connected');

    for (const { cli } of [a, b]) cli.kill('SIGTERM');
    const said = JSON.stringify([await a.cli.ended, await b.cli.ended, well, unwell, text]);
    expect(said).toContain('"code":0');
    expect(said).not.toContain(PASSWORD);
  });

  test('the machines of a file move to the pool once, with histories and notes, while the gateway does not run', async () => {
    const url = await postgres.database();
    const directory = temporaryDirectory();
    const { store } = await openTestStore(join(directory, 'registry.db'));
    const there = storedProvider();
    const note = { name: 'Tower', note: '' };
    const event = { providerId: there.id, at: 1, kind: 'status', text: 'serving' } as const;
    await keep(store, put(), put({ id: 'prv_own', lastHeartbeatIp: '127.0.0.1' }));
    await keep(
      store,
      { kind: 'event', event },
      { kind: 'event', event: { ...event, text: 'stale' } },
      document(`note:${there.id}`, JSON.stringify(note)),
      document('note:prv_own', JSON.stringify(note)),
    );
    await store.close();
    const settings = { DATA_DIR: directory, DATABASE_URL: url, POOL_SECRET: SECRET };
    const imported = await sayHere(settings, 'pool', 'import', '--json');
    expect(imported).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(imported.stdout)).toEqual({ imported: 1, there: 0, loopback: 1 });

    const gateway = await startGateway(url, directory);
    const provider = await shown(gateway, there.id);
    expect(provider).toMatchObject({ heartbeat_count: 42, verification: { status: 'verified' } });
    const { text } = await send(`${gateway.url}/api/v1/providers/${there.id}/history`);
    expect(text).toMatch(/stale.*serving/);
    const notes = await send(`${gateway.url}/api/v1/providers/notes`);
    expect(JSON.parse(notes.text)).toEqual({ notes: { [there.id]: note } });
    const running = await sayHere(settings, 'pool', 'import');
    expect(running.code).toBe(1);
    expect(running.stderr).toContain('Another Inglenook uses the data directory');
    gateway.cli.kill('SIGTERM');
    await gateway.cli.ended;
    const again = await sayHere(settings, 'pool', 'import');
    expect(again.stdout).toMatch(/Imported: 0 machines.*\nAlready in the pool: 1\.\n/);
  });

  test('a stopped gateway hands its work over at once and keeps nothing of its own in a file', async () => {
    const url = await postgres.database();
    const a = await startGateway(url);
    const b = await startGateway(url);
    await expect.poll(() => sweeperOf(url)).toBeDefined();
    const ledger = createLedger();
    await enrol(a, ledger, createAgent({ now: () => Date.now() }));
    for (const machine of ledger.machines.values()) await beat(b, machine);
    a.cli.kill('SIGTERM');
    expect(await a.cli.ended).toMatchObject({ code: 0, stderr: '' });
    await expectAllThere(b, ledger);
    const [held] = await postgres.query<{ readonly count: number }>(
      url,
      `SELECT count(*)::int AS count FROM inglenook.leases l JOIN inglenook.gateways g ON g.run = l.holder
       WHERE l.until > clock_timestamp() AND g.seen_at < clock_timestamp() - interval '5 s'`,
    );
    expect(held).toEqual({ count: 0 });
  });
});
