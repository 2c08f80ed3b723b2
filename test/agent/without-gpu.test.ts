import { expect, test } from 'vitest';
import type { Log } from '../../main/platform/log.ts';
import { setTelemetry, startModelServer, startServing, until } from '../support/agent.ts';
import { answers } from '../support/upstream.ts';

test('an engine without a GPU is named in the log once, with the cause and doctor', async () => {
  const told: unknown[] = [];
  const log: Log = (level, event, fields) => {
    if (event === 'no_gpu') told.push([level, fields]);
  };
  const telemetry = setTelemetry();
  const problem = {
    tool: 'GPU',
    tried: 'nvidia-smi',
    happened: 'not found',
    remedy: 'Install it.',
  };
  const gpus = { state: 'absent', devices: [], problems: [problem] } as const;
  telemetry.now = { ...telemetry.now, gpus };
  const machine = await startServing(await startModelServer(answers('hi')), { log, telemetry });
  await until(() => told.length === 1);
  machine.clock.advance(20_000);
  expect(told).toEqual([
    [
      'warn',
      expect.objectContaining({ why: 'GPU: not found', todo: expect.stringContaining('doctor') }),
    ],
  ]);
});
