import { EventEmitter } from 'node:events';
import type { UtilityProcess } from 'electron';
import { expect, test } from 'vitest';
import { runFirst } from '../../main/agent/telemetry/tool-process.ts';
import { createUtilityHelper } from '../../main/desktop/utility-helper.ts';
import { createManualClock } from '../support/clock.ts';

// Electron does not run here: the child is an emitter with the events of its documentation.
class FakeChild extends EventEmitter {
  readonly pid = 4711;
}

function called() {
  const child = new FakeChild();
  const forked: unknown[] = [];
  const killed: number[] = [];
  const clock = createManualClock();
  const startTool = createUtilityHelper(
    {
      fork(...args) {
        forked.push(args);
        return child as unknown as UtilityProcess;
      },
    },
    { PATH: '/bin' },
    (pid) => {
      killed.push(pid);
      return child.emit('exit', 0);
    },
  );
  const { signal } = new AbortController();
  const edges = { startTool, clock, timeoutMs: 1000 };
  const result = runFirst(['helper.js'], ['memory'], edges, signal);
  return { child, forked, killed, clock, result };
}

test('the answer of the helper ends it', async () => {
  const { child, forked, killed, result } = called();
  expect(forked).toEqual([['helper.js', ['memory'], { env: { PATH: '/bin' }, stdio: 'ignore' }]]);
  child.emit('message', '{"memory":1}');
  expect(await result).toEqual({ kind: 'output', text: '{"memory":1}' });
  expect(killed).toEqual([4711]);
});

test('a helper that hangs is killed', async () => {
  const { killed, clock, result } = called();
  clock.advance(1000);
  expect(await result).toMatchObject({ kind: 'hung', afterMs: 1000 });
  expect(killed).toEqual([4711]);
});
