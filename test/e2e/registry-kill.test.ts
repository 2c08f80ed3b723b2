import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { gatewayTokenOf } from '../../main/registry/provider-table.ts';
import { createAgent } from '../registry/world.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { expectError } from '../support/http.ts';
import { type RunningCli, startCli } from '../support/process.ts';
import {
  beat,
  createLedger,
  enrol,
  expectHeard,
  expectUsed,
  type Ledger,
  loadUntilGone,
  post,
  type Registry,
  registryOf,
  shown,
} from '../support/registry-load.ts';
import { openFileHere } from '../support/database.ts';

/** How often it is killed: some here, more where `KILLS` asks for it. */
const KILLS = Number(process.env['KILLS'] ?? 3);
/** A kill comes within this time of an enrolment that was acknowledged. */
const LOADED_MS = 500;
/** One kill of so many comes while the program still starts. */
const EARLY_KILLS = 5;
const STARTING_MS = 900;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function start(directory: string): RunningCli {
  return startCli({ PORT: '0', DATA_DIR: directory, AGENT: 'false' });
}

async function killed(cli: RunningCli): Promise<void> {
  cli.kill('SIGKILL');
  const { stderr } = await cli.ended;
  expect(stderr).toBe('');
}

/** Holds the registry to all that it has acknowledged. */
async function expectAllThere(registry: Registry, ledger: Ledger): Promise<void> {
  for (const machine of ledger.machines.values()) {
    const { agent } = machine;
    const provider = await shown(registry, agent.id);
    const counted = provider?.heartbeat_count ?? 0;
    expect(counted).toBeGreaterThanOrEqual(machine.least);
    expect(counted).toBeLessThanOrEqual(machine.most);
    expect(provider?.requests_served ?? 0).toBeGreaterThanOrEqual(machine.heard);
    await expectHeard(registry, machine);
    Object.assign(machine, { least: counted, most: counted });
    await beat(registry, machine);
  }
  for (const agent of [...ledger.removed.values()].slice(-5)) {
    expect(await shown(registry, agent.id)).toBeNull();
    expectError(await post(registry, agent.heartbeat({})), 401, 'unknown_provider');
  }
  await expectUsed(registry, ledger);
}

/** Each open token lets one machine in, still. */
async function expectTokensOpen(registry: Registry, ledger: Ledger): Promise<void> {
  for (const token of [...ledger.open].slice(0, 3)) {
    ledger.open.delete(token);
    const agent = createAgent({ now: () => Date.now() });
    const only = { ...ledger, open: new Set([token]) };
    await enrol(registry, only, agent);
  }
}

test(
  'a kill of the program at any moment loses no acknowledged heartbeat, enrolment, token or removal',
  async () => {
    const directory = temporaryDirectory();
    const ledger = createLedger();
    for (let kill = 0; kill < KILLS; kill += 1) {
      if (kill % EARLY_KILLS === EARLY_KILLS - 1) {
        const early = start(directory);
        await pause(Math.random() * STARTING_MS);
        await killed(early);
      }
      const cli = start(directory);
      const registry = await registryOf(cli, directory);
      await expectAllThere(registry, ledger);
      await expectTokensOpen(registry, ledger);
      const loading = loadUntilGone(registry, ledger);
      await expect.poll(() => ledger.used.size).toBeGreaterThan(kill + 1);
      await pause(Math.random() * LOADED_MS);
      await killed(cli);
      expect(await loading).toEqual([]);
    }
    const secret = readFileSync(join(directory, 'gateway-secret'), 'utf8').trim();
    const { db, registry: stored } = openFileHere(directory);
    const providers = new Map(stored.reads.load().state.providers.map((each) => [each.id, each]));
    db.close();
    for (const [id, { gatewayToken }] of ledger.machines) {
      const provider = providers.get(id);
      expect(provider).toBeDefined();
      if (provider === undefined || gatewayToken === null) continue;
      expect(gatewayTokenOf(secret, provider)).toBe(gatewayToken);
    }
    expect(ledger.used.size).toBeGreaterThan(KILLS);
  },
  60_000 + KILLS * 30_000,
);
