import { describe, expect, onTestFinished, test } from 'vitest';
import { createNvidiaCollector } from '../../../main/agent/telemetry/nvidia.ts';
import { createManualClock } from '../../support/clock.ts';
import { HANGS, isAlive, prints, stubTools } from '../../support/stub-tool.ts';
import { fixture } from '../fixture.ts';

const CARD = fixture('nvidia-consumer.csv');
const FIRST_MS = 45_000;

function started(script: string | null) {
  const tools = stubTools(script === null ? {} : { 'nvidia-smi': script });
  const clock = createManualClock();
  const collector = createNvidiaCollector({ clock, startTool: tools.startTool }, 5000);
  collector.start();
  onTestFinished(() => collector.stop());
  return { tools, clock, collector };
}

/** Lets what was resolved be heard. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('one tool runs on and is read as it prints', async () => {
  const { tools, collector } = started(prints(fixture('nvidia-datacenter.csv'), HANGS));
  expect(collector.read().state).toBe('starting');
  await (
    await tools.run(1)
  ).printed;
  expect(collector.read()).toMatchObject({ state: 'reading', problems: [] });
  expect(collector.read().devices.map(({ utilGpu }) => utilGpu)).toEqual([100, 0]);
  expect(tools.runs).toHaveLength(1);
  expect(tools.runs[0]?.args).toContain('--loop=5');
});

describe('a tool that hangs', () => {
  test('from the start is killed after 45 s and started again after 5, 10, 20 s', async () => {
    const { tools, clock, collector } = started(HANGS);
    for (const [run, pauseMs] of [5000, 10_000, 20_000].entries()) {
      const { ended } = await tools.run(run + 1);
      clock.advance(FIRST_MS - 1);
      expect(tools.runs).toHaveLength(run + 1);
      clock.advance(1);
      await ended;
      const { state, problems } = collector.read();
      expect(state).toBe('failing');
      expect(problems[0]).toMatchObject({
        tool: 'nvidia-smi',
        happened: 'it has hung: no reading in 45 s',
      });
      expect(problems[0]?.remedy).toMatch(/dmesg/);
      await settled();
      clock.advance(pauseMs - 1);
      expect(tools.runs).toHaveLength(run + 1);
      clock.advance(1);
    }
  });

  test('after it was well leaves the card known and its numbers unknown', async () => {
    const { tools, clock, collector } = started(prints(CARD, HANGS));
    const run = await tools.run(1);
    await run.printed;
    clock.advance(15_001);
    await run.ended;
    expect(collector.read().state).toBe('failing');
    expect(collector.read().devices).toMatchObject([
      {
        name: 'NVIDIA GeForce RTX 4080 SUPER',
        memoryTotalMb: 16376,
        memoryUsedMb: null,
        utilGpu: null,
      },
    ]);
  });
});

test.each([
  ['ten megabytes in one line', '/usr/bin/head -c 10000000 /dev/zero\n/bin/sleep 1000'],
  ['ten megabytes of lines', `/usr/bin/yes no such thing | /usr/bin/head -c 10000000\n${HANGS}`],
  ['noise without end', `/bin/cat /dev/urandom`],
])('%s end a tool and are not kept', async (_what, script) => {
  const { tools, collector } = started(script);
  await (
    await tools.run(1)
  ).ended;
  const { devices, problems } = collector.read();
  expect(devices).toEqual([]);
  expect(problems[0]?.happened).toBe('it prints far more than was asked for');
});

test('a tool that fails is told of with its own words and what to do', async () => {
  const words = 'Failed to initialize NVML: Driver/library version mismatch';
  const { tools, collector } = started(prints(words, 'exit 18'));
  await (
    await tools.run(1)
  ).ended;
  await settled();
  expect(collector.read()).toMatchObject({
    state: 'failing',
    devices: [],
    problems: [{ happened: `it ended with code 18: ${words}` }],
  });
  expect(collector.read().problems[0]?.remedy).toMatch(/restart this machine/);
});

test('a tool that crashes again and again is started ever more seldom', async () => {
  const { tools, clock } = started(prints(CARD, 'exit 1'));
  for (const [run, pauseMs] of [5000, 10_000, 20_000, 40_000].entries()) {
    await (
      await tools.run(run + 1)
    ).ended;
    await settled();
    clock.advance(pauseMs - 1);
    expect(tools.runs).toHaveLength(run + 1);
    clock.advance(1);
    expect(tools.runs).toHaveLength(run + 2);
  }
});

test('a tool that says that there is no card any more is believed', async () => {
  const { tools, clock, collector } = started(prints(CARD, 'exit 1'));
  await (
    await tools.run(1)
  ).ended;
  await settled();
  tools.install('nvidia-smi', prints('No devices were found', 'exit 6'));
  clock.advance(5000);
  await (
    await tools.run(2)
  ).ended;
  await settled();
  expect(collector.read().devices).toEqual([]);
});

test('a tool that comes back is read again and its problem is gone', async () => {
  const { tools, clock, collector } = started('exit 1');
  await (
    await tools.run(1)
  ).ended;
  await settled();
  tools.install('nvidia-smi', prints(CARD, HANGS));
  clock.advance(5000);
  await (
    await tools.run(2)
  ).printed;
  expect(collector.read()).toMatchObject({ state: 'reading', problems: [] });
});

test('an older tool is asked for less, at once', async () => {
  const { tools, collector } = started(
    `case "$1" in *compute_cap*)\n${prints('Field "compute_cap" is not a valid field to query.', 'exit 2')};; esac\n${prints(fixture('nvidia-basic.csv'), HANGS)}`,
  );
  await (
    await tools.run(2)
  ).printed;
  expect(collector.read().devices[0]?.name).toBe('Tesla P100-PCIE-16GB');
});

test('a card that is no longer listed beside others is lost', async () => {
  const clock = createManualClock();
  let feed: (chunk: Buffer) => void = () => {};
  const collector = createNvidiaCollector(
    {
      clock,
      startTool(_command, _args, onData) {
        feed = onData;
        return { kill: () => {}, ended: new Promise(() => {}) };
      },
    },
    5000,
  );
  collector.start();
  feed(Buffer.from(fixture('nvidia-datacenter.csv')));
  for (let round = 0; round < 4; round += 1) {
    clock.advance(5000);
    feed(Buffer.from(`${fixture('nvidia-datacenter.csv').split('\n')[0]}\n`));
  }
  const { devices, problems } = collector.read();
  expect(devices.map(({ key }) => key)).toEqual(['GPU-00000000-0000-0000-0000-000000000001']);
  expect(problems[0]?.happened).toBe('the driver no longer lists it');
  const stopping = collector.stop();
  clock.advance(1000);
  await stopping;
});

test('without the tool there is no card and no problem; it is looked for again after 5 minutes', async () => {
  const { tools, clock, collector } = started(null);
  await (
    await tools.run(4)
  ).ended;
  await settled();
  expect(collector.read()).toEqual({ state: 'absent', devices: [], problems: [] });
  tools.install('nvidia-smi', prints(CARD, HANGS));
  clock.advance(299_999);
  expect(tools.runs).toHaveLength(4);
  clock.advance(1);
  await (
    await tools.run(5)
  ).printed;
  expect(collector.read().state).toBe('reading');
});

test('nothing that it started outlives a stop, and no timer stays', async () => {
  const { tools, clock, collector } = started('/bin/sleep 1000 &\necho $$ $!\nwait');
  const [shell = 0, sleeping = 0] = (await (await tools.run(1)).printed).split(' ').map(Number);
  expect([isAlive(shell), isAlive(sleeping)]).toEqual([true, true]);
  await collector.stop();
  expect(isAlive(shell)).toBe(false);
  await expect.poll(() => isAlive(sleeping)).toBe(false);
  expect(clock.pending()).toBe(0);
});

test('a tool is given no more of the environment than it needs', async () => {
  const { tools } = started('echo "[$SWITCHYARD_API_KEYS$HOSTED_A_API_KEY]"\n/bin/sleep 1000');
  expect(await (await tools.run(1)).printed).toBe('[]\n');
});

test('a tool that is installed later and fails is failing, not absent', async () => {
  const { tools, clock, collector } = started(null);
  await expect.poll(() => collector.read().state).toBe('absent');
  tools.install('nvidia-smi', 'echo No devices were found >&2\nexit 6');
  const runs = tools.runs.length;
  clock.advance(300_000);
  await (
    await tools.run(runs + 1)
  ).ended;
  expect(collector.read().state).toBe('failing');
});
