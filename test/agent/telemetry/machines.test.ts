import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { agentRecord } from '../../../main/agent/record.ts';
import { createTelemetry } from '../../../main/agent/telemetry/telemetry.ts';
import type { StartTool } from '../../../main/agent/telemetry/tool-process.ts';
import { AGENT_STATE, hearingRegistry, startAgent, turn, until } from '../../support/agent.ts';
import { createManualClock } from '../../support/clock.ts';
import { temporaryDirectory } from '../../support/gateway.ts';
import { fileTree, HANGS, prints, stubTools } from '../../support/stub-tool.ts';
import type { Machine } from './machine.ts';
import { MACHINES } from './machines.ts';

/** Telemetry of such a machine: its tools are real processes, and so is systeminformation where it can run here. */
function on({ platform = 'linux', tools, files = {}, library }: Machine) {
  const clock = createManualClock();
  const stubs = stubTools({
    ...tools,
    'answer-of-library': prints(JSON.stringify(library ?? null)),
  });
  const startLibrary: StartTool = (file, args, onData) =>
    library === undefined
      ? stubs.startHelper(file, args, onData)
      : stubs.startTool('answer-of-library', [], onData);
  let isAnswered = false;
  const telemetry = createTelemetry({
    clock,
    env: {},
    platform,
    root: fileTree(files),
    startTool: stubs.startTool,
    startHelper(...call) {
      const helper = startLibrary(...call);
      void helper.ended.then(() => (isAnswered = true));
      return helper;
    },
  });
  onTestFinished(async () => {
    const stopping = telemetry.stop();
    clock.advance(2000);
    await stopping;
  });
  telemetry.start();
  return { clock, stubs, telemetry, isAnswered: () => isAnswered };
}

test.each(MACHINES.map((machine) => [machine.name, machine] as const))(
  '%s has the record that its tools print',
  async (_name, machine) => {
    const { clock, telemetry, isAnswered } = on(machine);
    const hangs = machine.tools['lspci'] === HANGS;
    await until(() => {
      if (hangs) clock.advance(100);
      return isAnswered();
    });
    await until(() => telemetry.read().gpus.state !== 'starting');
    const record = agentRecord(telemetry.read(), null, AGENT_STATE);
    expect(record.gpu.devices).toHaveLength(machine.devices.length);
    expect(record.gpu.devices).toMatchObject(machine.devices);
    expect(record).toMatchObject(machine.chip ?? {});
  },
  60_000,
);

test('no value is asked of nvidia-smi twice for one reading', async () => {
  const log = join(temporaryDirectory(), 'queries');
  const [machine] = MACHINES;
  if (machine === undefined) throw new Error('no machine');
  const counted = `echo "$1" >>'${log}'\n${machine.tools['nvidia-smi']}`;
  const { telemetry } = on({ ...machine, tools: { ...machine.tools, 'nvidia-smi': counted } });
  await until(() => telemetry.read().gpus.state === 'reading');
  const queries = readFileSync(log, 'utf8').trim().split('\n');
  const fields = queries.flatMap((query) => query.replace('--query-gpu=', '').split(','));
  // What both need to tell cards apart.
  const values = fields.filter((field) => field !== 'pci.bus_id');
  expect(queries).toHaveLength(2);
  expect(new Set(values).size).toBe(values.length);
});

test('heartbeats go out while every tool and the helper hang', async () => {
  const hangs = ['lspci', 'nvidia-smi', 'amd-smi', 'tailscale'];
  const { clock, stubs, telemetry } = on({
    name: 'hung',
    tools: Object.fromEntries(hangs.map((tool) => [tool, HANGS])),
    devices: [],
  });
  const ownRegistry = hearingRegistry();
  await startAgent({ clock, telemetry, ownRegistry });
  await until(() => stubs.runs.length > 0);
  for (let beats = 1; beats < 10; beats += 1) {
    // 15 s, up to 10 % more, and a moment for the first one.
    for (let second = 0; second < 17; second += 1) {
      clock.advance(1000);
      await turn();
    }
    await until(() => ownRegistry.statuses.length >= beats);
  }
  expect(telemetry.read().gpus.devices).toEqual([]);
});
