import { PROVIDER_PREFIX } from '#shared/ids.ts';
import type { PoolAnswer, PoolPort } from '#shared/pool-update.ts';
import type { Clock } from '../platform/clock.ts';
import type { SharedCircuits } from './circuits/shared-circuits.ts';
import type { Stats } from './monitoring/counters.ts';

/** Sends the other gateways of the pool what this one has learnt, and receives what they have. */
export interface PoolExchange {
  /** Running requests of the other gateways at a machine, as of the last second. */
  inFlightElsewhere(id: string): number;
  /** There is something to send. */
  changed(): void;
  start(): void;
  stop(): void;
}

interface ExchangeDeps {
  readonly port: PoolPort;
  readonly clock: Clock;
  readonly stats: Pick<Stats, 'running'>;
  readonly circuits: Pick<SharedCircuits, 'outgoing' | 'received'>;
}

const INTERVAL_MS = 1000;
/** Changes within this time are sent together. */
const BATCH_MS = 50;
/** If the database has not answered for this long, the figures of the others no longer count. */
const SILENCE_MS = 5000;

const NOWHERE: PoolAnswer['inFlight'] = {};

export function createPoolExchange(deps: ExchangeDeps): PoolExchange {
  const { port, clock, circuits } = deps;
  let elsewhere = NOWHERE;
  let answeredTicks = -Infinity;
  let isRunning = false;
  let isSending = false;
  /** There was news during the exchange. */
  let hasMoreNews = false;
  let dueTicks = Infinity;
  let cancelTimer = () => {};

  function plan(ms: number): void {
    const ticks = clock.ticks() + ms;
    if (!isRunning || isSending || ticks >= dueTicks) return;
    cancelTimer();
    dueTicks = ticks;
    cancelTimer = clock.after(ms, () => void send());
  }

  async function send(): Promise<void> {
    dueTicks = Infinity;
    isSending = true;
    hasMoreNews = false;
    const sentTicks = clock.ticks();
    const update = { ...circuits.outgoing(), inFlight: figuresOf(deps.stats) };
    const answer = await port.exchange(update);
    if (answer !== null) {
      elsewhere = answer.inFlight;
      answeredTicks = clock.ticks();
    } else if (clock.ticks() - answeredTicks > SILENCE_MS) elsewhere = NOWHERE;
    isSending = false;
    circuits.received(answer, sentTicks);
    // Without the database, sending early is pointless.
    plan(hasMoreNews && answer !== null ? BATCH_MS : INTERVAL_MS);
  }

  function soon(): void {
    hasMoreNews = true;
    plan(BATCH_MS);
  }

  port.onNews(soon);
  return {
    inFlightElsewhere: (id) => elsewhere[id] ?? 0,
    changed: soon,
    start() {
      isRunning = true;
      plan(0);
    },
    stop() {
      isRunning = false;
      cancelTimer();
    },
  };
}

function figuresOf({ running }: Pick<Stats, 'running'>): Readonly<Record<string, number>> {
  return Object.fromEntries([...running()].filter(([id]) => id.startsWith(PROVIDER_PREFIX)));
}
