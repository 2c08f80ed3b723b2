import type { AgentProblem } from '#shared/agent.ts';
import { createRounds, withTimeout } from '../../platform/async.ts';
import type { Clock } from '../../platform/clock.ts';
import { type GpuDevice, type GpuReading, outOfDate } from './gpu-device.ts';

/** What a round has found. */
export interface Poll extends GpuReading {
  /** The end of a hung tool, which the next round waits for. */
  readonly gone?: Promise<unknown> | undefined;
}

export const ABSENT: Poll = { state: 'absent', devices: [], problems: [] };

export const readingOf = (
  devices: readonly GpuDevice[],
  problems: readonly AgentProblem[] = [],
): Poll => ({ state: 'reading', devices, problems });

export const failureOf = (problem: AgentProblem, gone?: Promise<unknown>): Poll => ({
  state: 'failing',
  devices: [],
  problems: [problem],
  gone,
});

export type GpuCollector = ReturnType<typeof createPollCollector>;

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
 * `source` is what it reads first, as problems name it.
 */
export function createPollCollector(
  source: string,
  clock: Clock,
  poll: (signal: AbortSignal, isHurried: boolean) => Promise<Poll>,
) {
  let last: Poll = { state: 'starting', devices: [], problems: [] };
  let failures = 0;
  let round: Promise<unknown> = Promise.resolve();

  const rounds = createRounds(
    async (signal, isHurried) => {
      if (last.gone !== undefined) await withTimeout(last.gone, { clock, signal });
      const finished = finishedRound(poll(signal, isHurried), source, clock);
      round = finished;
      const result = await finished;
      if (!signal.aborted) take(result);
      return pauseMs(result);
    },
    { clock },
  );

  function take(result: Poll): void {
    const hasFailed = result.state === 'failing';
    failures = hasFailed ? failures + 1 : 0;
    const isForgotten = result.gone === undefined && failures >= FAILURES_TO_FORGET;
    const known = isForgotten ? [] : last.devices.map(outOfDate);
    last = hasFailed ? { ...result, devices: known } : result;
  }

  function pauseMs({ state }: Poll): number {
    if (state === 'absent') return RETRY_MAX_MS;
    return state === 'failing' ? Math.min(READ_MS * 2 ** failures, RETRY_MAX_MS) : READ_MS;
  }

  return {
    start: rounds.start,
    /** Returns the last reading at once; does not call a driver. */
    read: (): GpuReading => last,
    /** Resolves when no round is in progress. */
    settled: () => round,
    /** Starts a new reading at once. */
    look: rounds.runNow,
    /** Resolves once every process that was started has ended. */
    async stop() {
      await withTimeout(rounds.stop(), { clock, ms: STOP_WAIT_MS });
    },
  };
}

async function finishedRound(round: Promise<Poll>, source: string, clock: Clock): Promise<Poll> {
  const result = await withTimeout(round, { clock, ms: ROUND_TIMEOUT_MS });
  if (result.kind === 'settled') return result.value;
  const problem = {
    tool: source,
    tried: `reading ${source}`,
    happened: `it has hung: no answer in ${ROUND_TIMEOUT_MS / 1000} s`,
    remedy: 'The driver does not answer: check `dmesg`, and restart this machine.',
  };
  return failureOf(problem, round);
}
