import type { AgentRecord } from '#shared/provider.ts';
import { createRounds, withTimeout } from '../../platform/async.ts';
import { sleep } from '../../platform/clock.ts';
import type { AgentContext } from '../context.ts';
import type { EngineWatch } from '../engines/watch.ts';
import type { BeatOutcome, RegistryLink } from './link.ts';

export type Heartbeats = ReturnType<typeof startHeartbeats>;

export interface HeartbeatParts {
  /** The first heartbeat waits for them. */
  readonly engines: Pick<EngineWatch, 'looked'>;
  /** `isLeaving` makes it a goodbye. */
  readonly record: (isLeaving: boolean) => AgentRecord;
  readonly link: RegistryLink;
  /** Called for each heartbeat except the goodbye. */
  readonly onOutcome: (outcome: BeatOutcome) => void;
}

const TIMEOUT_MS = 10_000;
const GOODBYE_TIMEOUT_MS = 1000;
/** Changes come in bursts: a starting engine changes its health, its models and its metrics. */
const DEBOUNCE_MS = 250;
/** Shortest time between the starts of two heartbeats; a change is still reported within a second. */
const MIN_GAP_MS = 750;

export function startHeartbeats(context: AgentContext, parts: HeartbeatParts) {
  const { config, clock, random } = context;
  const { link, record } = parts;
  const waiting = new AbortController();
  let failures = 0;
  let isStarted = false;
  let isRunning = false;
  let cancelChange: (() => void) | null = null;

  const rounds = createRounds(beat, { clock, minGapMs: MIN_GAP_MS });

  async function beat(signal: AbortSignal): Promise<number> {
    isRunning = true;
    forgetChange();
    const outcome = await link.beat(record(false), { timeoutMs: TIMEOUT_MS, signal });
    isRunning = false;
    if (signal.aborted) return 0;
    const isHeard = outcome.kind === 'accepted' || outcome.kind === 'unwritten';
    failures = isHeard ? 0 : failures + 1;
    parts.onOutcome(outcome);
    const { heartbeatMs } = config().agent;
    return pauseAfter(outcome, { heartbeatMs, failures, random: random() });
  }

  function forgetChange(): void {
    cancelChange?.();
    cancelChange = null;
  }

  function start(): void {
    isStarted = true;
    rounds.start();
  }

  void untilReady(context, parts.engines, waiting.signal).then(start);

  return {
    /** Sends a heartbeat soon, but late enough to cover further changes of the record. */
    changed(): void {
      // The first heartbeat waits until it is ready, and changes do not shorten the back-off from a registry that fails.
      if (!isRunning && (!isStarted || failures > 0)) return;
      cancelChange ??= clock.after(DEBOUNCE_MS, rounds.runNow);
    },
    /** Sends a heartbeat at once and ends any back-off: after a suspend or a change of address. */
    now(): void {
      failures = 0;
      if (isStarted) rounds.runNow();
      else start();
    },
    /** Sends a goodbye and waits at most a second for the answer. */
    async stop(): Promise<void> {
      waiting.abort();
      forgetChange();
      void rounds.stop();
      const sent = link.beat(record(true), { timeoutMs: GOODBYE_TIMEOUT_MS });
      await withTimeout(sent, { clock, ms: GOODBYE_TIMEOUT_MS });
    },
  };
}

interface Pace {
  readonly heartbeatMs: number;
  /** Consecutive failures, the last one included. */
  readonly failures: number;
  /** In [0, 1). */
  readonly random: number;
}

/** Each pause varies by up to a tenth, so that machines started together do not stay in step. */
const JITTER = 0.1;
const BACKOFF_MIN_MS = 1000;
const BACKOFF_MAX_MS = 60_000;
/** Limits on what a registry may ask for: it counts a machine as silent after 45 s. */
const ASKED_MIN_MS = 1000;
const ASKED_MAX_MS = 30_000;

export function pauseAfter(outcome: BeatOutcome, pace: Pace): number {
  switch (outcome.kind) {
    case 'accepted':
      return jittered(Math.min(pace.heartbeatMs, asked(outcome.heartbeatMs)), pace.random);
    case 'unwritten':
      return jittered(pace.heartbeatMs, pace.random);
    case 'unknown_provider':
      // Only a person can fix this, so the registry is not asked every second.
      return jittered(BACKOFF_MAX_MS, pace.random);
    case 'busy':
      return Math.max(backoff(pace), Math.min(outcome.retryAfterMs ?? 0, BACKOFF_MAX_MS));
    default:
      return backoff(pace);
  }
}

function jittered(ms: number, random: number): number {
  return Math.round(ms * (1 - JITTER + 2 * JITTER * random));
}

function asked(ms: number): number {
  return Math.min(Math.max(ms, ASKED_MIN_MS), ASKED_MAX_MS);
}

/** Full jitter, over a range that doubles with each failure. */
function backoff({ failures, random }: Pace): number {
  const ceiling = Math.min(BACKOFF_MIN_MS * 2 ** failures, BACKOFF_MAX_MS);
  return Math.round(BACKOFF_MIN_MS + random * (ceiling - BACKOFF_MIN_MS));
}

/** A hung engine or a driver that is still loading must not delay the machine for longer. */
const READY_TIMEOUT_MS = 3000;
const READY_POLL_MS = 50;

/**
 * Resolves once engine and GPUs are known, or after `READY_TIMEOUT_MS`. A machine that reports without them fails
 * verification and is checked again only after a while.
 */
export async function untilReady(
  { telemetry, clock }: Pick<AgentContext, 'telemetry' | 'clock'>,
  engines: HeartbeatParts['engines'],
  signal: AbortSignal,
): Promise<void> {
  const untilTicks = clock.ticks() + READY_TIMEOUT_MS;
  await withTimeout(engines.looked(), { clock, ms: READY_TIMEOUT_MS, signal });
  const areGpusUnread = () => telemetry.read().gpus.state === 'starting';
  while (areGpusUnread() && clock.ticks() < untilTicks && !signal.aborted)
    await sleep(clock, READY_POLL_MS, signal);
}
