import { PROVIDER_PREFIX } from '#shared/ids.ts';
import { type Clock, dualTimeOf, remainingMs } from '../../platform/clock.ts';
import type { Memory } from '../memory/memory.ts';
import type { Circuits } from './circuits.ts';
import type { Opening } from './breaker.ts';

export interface HealthChecksDeps {
  readonly memory: Memory;
  readonly clock: Clock;
  readonly circuits: Circuits;
  readonly isOn: () => boolean;
  /** Whether a cheap request, never a completion, is answered; null if there is none to send, or it could not be sent. */
  readonly check: (id: string) => Promise<boolean | null> | null;
}

/** From an opening or a failed probe to the first check: so there is at most one probe in this time. */
const FIRST_CHECK_MS = 15_000;
const INTERVAL_MS = 5000;
/** A circuit that is open for longer is checked less often. */
const LONG_OPEN_MS = 600_000;
const LONG_OPEN_INTERVAL_MS = 15_000;
/** A pool may have thousands of machines: further checks are put off. */
const MAX_CONCURRENT = 16;
const PUT_OFF_MS = 1000;

interface OpenCircuit {
  /** Clock ticks. */
  readonly openedAt: number;
  /** The opening or the last failed probe, in clock ticks. */
  failedAt: number;
  /** It hung although it passed its checks, or before the first: passed checks do not count until one fails. */
  isDoubted: boolean;
  /** Null before the first check. */
  lastPassed: boolean | null;
  /** Serial of the scheduled or running check: the result of an earlier one is dropped. */
  serial: number;
  cancelTimer: () => void;
}

const isMachine = (id: string): boolean => id.startsWith(PROVIDER_PREFIX);

function openCircuit(ticks: number, wasSilent: boolean): OpenCircuit {
  return {
    openedAt: ticks,
    failedAt: ticks,
    isDoubted: wasSilent,
    lastPassed: null,
    serial: 0,
    cancelTimer() {},
  };
}

function intervalMs({ openedAt }: OpenCircuit, nowTicks: number): number {
  return nowTicks - openedAt >= LONG_OPEN_MS ? LONG_OPEN_INTERVAL_MS : INTERVAL_MS;
}

export type HealthChecks = ReturnType<typeof createHealthChecks>;

/** A passed check ends the cool-down, and the next request is the probe. */
export function createHealthChecks({ memory, clock, circuits, isOn, check }: HealthChecksDeps) {
  const open = new Map<string, OpenCircuit>();
  let running = 0;
  let isStopped = false;

  function schedule(id: string, circuit: OpenCircuit, ms: number): void {
    circuit.cancelTimer();
    circuit.serial += 1;
    if (!isStopped) circuit.cancelTimer = clock.after(ms, () => void checkOnce(id, circuit));
  }

  async function checkOnce(id: string, circuit: OpenCircuit): Promise<void> {
    const { state } = circuits.at(id).breaker;
    if (state.kind === 'closed') {
      open.delete(id);
      return;
    }
    // The next request is the probe: if it fails, `opened` schedules the next check.
    if (state.kind === 'open' && remainingMs(state.until, dualTimeOf(clock)) === 0) return;
    if (running >= MAX_CONCURRENT && isMachine(id)) {
      schedule(id, circuit, PUT_OFF_MS);
      return;
    }
    const { serial } = circuit;
    const startedAt = clock.ticks();
    const hasPassed = state.kind === 'open' && isOn() ? await counted(check(id)) : null;
    if (circuit.serial !== serial || open.get(id) !== circuit) return;
    if (hasPassed !== null) circuit.lastPassed = hasPassed;
    if (hasPassed === false) circuit.isDoubted = false;
    if (hasPassed === true && !circuit.isDoubted) endCooldown(id);
    const pauseMs = intervalMs(circuit, startedAt) - (clock.ticks() - startedAt);
    schedule(id, circuit, Math.max(0, pauseMs));
  }

  async function counted(checking: Promise<boolean | null> | null): Promise<boolean | null> {
    if (checking === null) return null;
    running += 1;
    try {
      return await checking;
    } finally {
      running -= 1;
    }
  }

  function endCooldown(id: string): void {
    circuits.coolDown(id);
    // The pool's circuit opens when all of its machines fail: one that has recovered ends its cool-down too.
    const pool = open.get('local');
    if (!isMachine(id) || pool === undefined || pool.isDoubted) return;
    if (clock.ticks() - pool.failedAt >= FIRST_CHECK_MS) circuits.coolDown('local');
  }

  function begin(id: string, wasSilent: boolean): void {
    open.get(id)?.cancelTimer();
    const circuit = openCircuit(clock.ticks(), wasSilent);
    open.set(id, circuit);
    schedule(id, circuit, FIRST_CHECK_MS);
  }

  return {
    /** To be called when a circuit has opened, or its probe has failed. */
    opened(id: string, { isFirst, wasSilent }: Opening): void {
      const circuit = open.get(id);
      if (isFirst || circuit === undefined) {
        begin(id, wasSilent);
        return;
      }
      circuit.failedAt = clock.ticks();
      circuit.isDoubted = wasSilent && circuit.lastPassed !== false;
      schedule(id, circuit, FIRST_CHECK_MS);
    },
    /** A verification has passed, whose completion tells more than a check. */
    passed(id: string): void {
      const circuit = open.get(id);
      if (circuit !== undefined && !circuit.isDoubted) endCooldown(id);
    },
    /** Takes over circuits that an earlier run left open. */
    start(): void {
      for (const id of memory.ids('circuit')) {
        if (circuits.at(id).breaker.state.kind === 'open') begin(id, false);
      }
    },
    /** Checks a circuit now if it is open, or each open one, as after a sleep. */
    checkNow(only?: string): void {
      for (const [id, circuit] of open)
        if (only === undefined || id === only) schedule(id, circuit, 0);
    },
    stop(): void {
      isStopped = true;
      for (const { cancelTimer } of open.values()) cancelTimer();
      open.clear();
    },
  };
}
