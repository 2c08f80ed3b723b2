import { ByteBuffer } from '../../platform/byte-buffer.ts';
import type { Clock } from '../../platform/clock.ts';
import { NVIDIA_SMI } from '../telemetry/nvidia.ts';
import type { Telemetry, TelemetryWatch } from '../telemetry/telemetry.ts';
import type { StartTool } from '../telemetry/tool-process.ts';
import type { EnergyMeter } from './energy-meter.ts';

interface PowerWatchDeps {
  readonly telemetry: Pick<TelemetryWatch, 'read' | 'look'>;
  readonly meter: Pick<EnergyMeter, 'sample' | 'isServing'>;
  /** Left out where no tool may be started. */
  readonly startTool: StartTool | null;
  readonly clock: Clock;
}

/** Between looks while requests run. */
const LOOK_MS = 1000;
/** Readings of the other vendors cost a process or more each. */
const TELEMETRY_MS = 5000;
/** nvidia-smi keeps running for this long after the last request, because the next one is often near. */
const LINGER_MS = 30_000;
/** It is not started again so soon after it failed. */
const RETRY_MS = 600_000;

/** Has the power of the GPUs read often enough while requests run: by one nvidia-smi that repeats itself, if it can. */
export function createPowerWatch({ telemetry, meter, startTool, clock }: PowerWatchDeps) {
  let stream: PowerStream | null = null;
  let failedTicks = -Infinity;
  let servedTicks = -Infinity;
  let askedTicks = -Infinity;
  let cancelTimer: (() => void) | null = null;

  function openStream(): void {
    const { devices } = telemetry.read().gpus;
    const isNvidia = devices.length > 0 && devices.every(({ vendor }) => vendor === 'nvidia');
    if (startTool === null || !isNvidia || clock.ticks() - failedTicks < RETRY_MS) return;
    const opened = createPowerStream(startTool, {
      cards: devices.length,
      onWatts: (watts) => meter.sample(clock.ticks(), watts),
      onEnd() {
        if (stream !== opened) return;
        stream = null;
        failedTicks = clock.ticks();
      },
    });
    stream = opened;
  }

  function closeStream(): void {
    stream?.stop();
    stream = null;
  }

  function lookWhileServing(): void {
    cancelTimer = null;
    look();
    if (meter.isServing() || stream !== null) cancelTimer = clock.after(LOOK_MS, lookWhileServing);
  }

  function look(): void {
    const now = clock.ticks();
    if (meter.isServing()) {
      servedTicks = now;
      if (stream === null) openStream();
      if (stream === null && now - askedTicks >= TELEMETRY_MS) {
        askedTicks = now;
        telemetry.look();
      }
    } else if (now - servedTicks >= LINGER_MS) {
      closeStream();
    }
    if (stream === null) meter.sample(now, wattsIn(telemetry.read()));
  }

  return {
    /** Takes the last reading; to be called at an interval, and when a request begins. */
    look() {
      if (cancelTimer === null) lookWhileServing();
    },
    stop() {
      cancelTimer?.();
      cancelTimer = null;
      closeStream();
    },
  };
}

/** Of all GPUs; null if one is faulty or does not say, or readings fail. */
export function wattsIn({ gpus }: Pick<Telemetry, 'gpus'>): number | null {
  if (gpus.state !== 'reading' || gpus.devices.length === 0) return null;
  return totalWatts(gpus.devices.map(({ fault, powerW }) => (fault === null ? powerW : null)));
}

/** Null if one is unknown. */
function totalWatts(watts: readonly (number | null)[]): number | null {
  return watts.reduce((sum, each) => (sum === null || each === null ? null : sum + each), 0);
}

interface PowerStream {
  stop(): void;
}

const ARGUMENTS = [
  '--query-gpu=index,power.draw',
  '--format=csv,noheader,nounits',
  `--loop-ms=${LOOK_MS}`,
];
const MAX_LINE_BYTES = 4096;
const LF = 0x0a;

/** One nvidia-smi that prints a line for each card every second. */
function createPowerStream(
  startTool: StartTool,
  {
    cards,
    onWatts,
    onEnd,
  }: {
    readonly cards: number;
    readonly onWatts: (watts: number | null) => void;
    readonly onEnd: () => void;
  },
): PowerStream {
  let isStopped = false;
  let round: (number | null)[] = [];
  const rest = new ByteBuffer();
  let kill = () => {};

  function line(text: string): void {
    const [index, watts = ''] = text.split(',').map((part) => part.trim());
    if (index === '0' || index === undefined) round = [];
    const value = watts === '' ? NaN : Number(watts);
    round.push(Number.isFinite(value) ? value : null);
    if (round.length < cards) return;
    onWatts(totalWatts(round));
    round = [];
  }

  function read(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
      rest.add(chunk.subarray(from, at));
      line(rest.take().toString('latin1'));
      from = at + 1;
    }
    rest.add(chunk.subarray(from));
    if (rest.length > MAX_LINE_BYTES) rest.clear();
  }

  async function run(): Promise<void> {
    for (const command of NVIDIA_SMI) {
      const tool = startTool(command, ARGUMENTS, read);
      kill = () => tool.kill();
      const end = await tool.ended;
      if (isStopped || end.kind !== 'missing') break;
    }
    if (!isStopped) onEnd();
  }

  void run();
  return {
    stop() {
      isStopped = true;
      kill();
    },
  };
}
