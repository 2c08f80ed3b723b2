import { describe, expect, test } from 'vitest';
import { createEnergyMeter, createPowerWatch } from '../../../main/agent/energy.ts';
import type { GpuDevice } from '../../../main/agent/telemetry/gpu-device.ts';
import type { StartTool, ToolEnd } from '../../../main/agent/telemetry/tool-process.ts';
import { CARD, setTelemetry, turn } from '../../support/agent.ts';
import { createManualClock } from '../../support/clock.ts';

/** A tool that prints what the test says. */
function scriptedTool() {
  const starts: { command: string; args: readonly string[]; isKilled: boolean }[] = [];
  let print = (_text: string): void => {};
  let end = (_how: ToolEnd): void => {};
  const startTool: StartTool = (command, args, onData) => {
    const start = { command, args, isKilled: false };
    starts.push(start);
    const { promise, resolve } = Promise.withResolvers<ToolEnd>();
    print = (text) => onData(Buffer.from(text));
    end = resolve;
    return { kill: () => void (start.isKilled = true), ended: promise };
  };
  return {
    startTool,
    starts,
    print: (text: string) => print(text),
    end: async (how: ToolEnd) => {
      end(how);
      await turn();
    },
  };
}

function startWatch(cards: readonly Partial<GpuDevice>[] = [{}]) {
  const clock = createManualClock();
  const telemetry = setTelemetry();
  const devices = cards.map((card) => ({ ...CARD, ...card }));
  telemetry.now = { ...telemetry.now, gpus: { state: 'reading', devices, problems: [] } };
  const meter = createEnergyMeter();
  const tool = scriptedTool();
  const watch = createPowerWatch({ telemetry, meter, startTool: tool.startTool, clock });
  return { clock, telemetry, meter, tool, watch };
}

describe('power while requests run', () => {
  test('a single nvidia-smi repeats its readings while requests run, and the watts of all cards are added', () => {
    const { clock, meter, tool, watch } = startWatch([{}, {}]);
    const first = meter.began('qwen3', clock.ticks());
    watch.look();
    expect(tool.starts).toMatchObject([
      { command: 'nvidia-smi', args: expect.arrayContaining(['--loop-ms=1000']) },
    ]);
    tool.print('0, 100.00\n1, 50');
    tool.print('.00\n');
    expect(meter.view().watts).toBe(150);
    first(clock.ticks(), 1);
    const ended = meter.began('qwen3', clock.ticks());
    for (let second = 0; second < 10; second += 1) {
      clock.advance(1000);
      tool.print('0, 100.00\n1, 50.00\n');
    }
    ended(clock.ticks(), 500);
    expect(meter.view().models).toEqual([{ model: 'qwen3', joules: 1500, tokens: 500 }]);
    expect(tool.starts).toHaveLength(1);
  });

  test('an nvidia-smi that fails is restarted only after ten minutes, and plain readings stand in for it', async () => {
    const { clock, meter, telemetry, tool, watch } = startWatch([{ powerW: 80 }]);
    meter.began('qwen3', clock.ticks());
    watch.look();
    await tool.end({ kind: 'exited', code: 1, stderr: 'unknown option' });
    clock.advance(10_000);
    expect([tool.starts.length, telemetry.looks, meter.view().watts]).toEqual([1, 2, 80]);
    clock.advance(600_000);
    expect(tool.starts).toHaveLength(2);
  });

  test('cards of other vendors are read every five seconds while requests run', () => {
    const { clock, meter, telemetry, tool, watch } = startWatch([{ vendor: 'amd', powerW: 90 }]);
    meter.sample(clock.ticks(), 30);
    clock.advance(1);
    meter.began('qwen3', clock.ticks());
    watch.look();
    clock.advance(20_000);
    expect([tool.starts.length, telemetry.looks]).toEqual([0, 5]);
    const [model] = meter.view().models;
    expect([model?.model, Math.round(model?.joules ?? 0)]).toEqual(['qwen3', 20 * (90 - 30)]);
  });
});
