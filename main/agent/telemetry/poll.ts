import type { AgentProblem } from '#shared/agent.ts';
import { createRounds, withTimeout } from '../../platform/async.ts';
import type { Clock } from '../../platform/clock.ts';
import { type GpuCollector, type GpuDevice, outOfDate } from './gpu-device.ts';

/** A round without a reading. */
export interface FailedPoll {
  readonly kind: 'failed';
  readonly problem: AgentProblem;
  /** The end of a hung tool, which the next round waits for; null if none hangs. */
  readonly gone: Promise<unknown> | null;
}

export type Poll =
  | {
      readonly kind: 'devices';
      readonly devices: readonly GpuDevice[];
      readonly problems: readonly AgentProblem[];
    }
  | { readonly kind: 'absent' }
  | FailedPoll;

interface PollOptions {
  readonly clock: Clock;
  /** What is read first, as problems name it. */
  readonly source: string;
}

/** One reading per heartbeat. */
const READ_MS = 15_000;
const RETRY_MAX_MS = 300_000;
/** After this many failures the cards are dropped, unless the driver has hung. */
const FAILURES_TO_FORGET = 3;
/** Tools have their own timeouts, but reading a file of a hung driver never ends. */
const ROUND_TIMEOUT_MS = 60_000;
const STOP_WAIT_MS = 1500;

/**
 * Repeats `poll`, one round at a time, with a back-off while it fails. `isHurried`: what is known may be out of date.
 */
export function createPollCollector(
  poll: (signal: AbortSignal, isHurried: boolean) => Promise<Poll>,
  { clock, source }: PollOptions,
): GpuCollector {
  let last: Poll | null = null;
  let devices: readonly GpuDevice[] = [];
  let failures = 0;
  let round: Promise<unknown> = Promise.resolve();
  /** The end of a hung tool. */
  let gone: Promise<unknown> | null = null;

  const rounds = createRounds(
    async (signal, isHurried) => {
      if (gone !== null) await withTimeout(gone, { clock, signal });
      const finished = finishedRound(poll(signal, isHurried), source, clock);
      round = finished;
      const result = await finished;
      if (!signal.aborted) take(result);
      return pauseMs(result);
    },
    { clock },
  );

  function take(result: Poll): void {
    last = result;
    gone = result.kind === 'failed' ? result.gone : null;
    failures = result.kind === 'failed' ? failures + 1 : 0;
    if (result.kind === 'devices') devices = result.devices;
    else if (result.kind === 'absent') devices = [];
    else if (result.gone === null && failures >= FAILURES_TO_FORGET) devices = [];
    else devices = devices.map(outOfDate);
  }

  function pauseMs({ kind }: Poll): number {
    if (kind === 'absent') return RETRY_MAX_MS;
    return kind === 'failed' ? Math.min(READ_MS * 2 ** failures, RETRY_MAX_MS) : READ_MS;
  }

  return {
    start: rounds.start,
    read() {
      if (last === null) return { state: 'starting', devices, problems: [] };
      if (last.kind === 'absent') return { state: 'absent', devices, problems: [] };
      if (last.kind === 'failed') return { state: 'failing', devices, problems: [last.problem] };
      return { state: 'reading', devices, problems: last.problems };
    },
    settled: () => round,
    look: rounds.runNow,
    async stop() {
      await withTimeout(rounds.stop(), { clock, ms: STOP_WAIT_MS });
    },
  };
}

async function finishedRound(round: Promise<Poll>, source: string, clock: Clock): Promise<Poll> {
  const result = await withTimeout(round, { clock, ms: ROUND_TIMEOUT_MS });
  if (result.kind === 'settled') return result.value;
  return {
    kind: 'failed',
    problem: {
      tool: source,
      tried: `reading ${source}`,
      happened: `it has hung: no answer in ${ROUND_TIMEOUT_MS / 1000} s`,
      remedy: 'The driver does not answer: check `dmesg`, and restart this machine.',
    },
    gone: round,
  };
}
