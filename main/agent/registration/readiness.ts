import { withTimeout } from '../../platform/async.ts';
import { type Clock, sleep } from '../../platform/clock.ts';
import type { EngineWatch } from '../engines/watch.ts';
import type { TelemetryWatch } from '../telemetry/telemetry.ts';

/** Sources that must be ready before the first heartbeat. */
export interface ReadinessSources {
  readonly engines: Pick<EngineWatch, 'looked'>;
  readonly telemetry: Pick<TelemetryWatch, 'read'>;
  readonly clock: Clock;
}

/** A hung engine or a driver that is still loading must not delay the machine for longer. */
const READY_TIMEOUT_MS = 3000;
const POLL_MS = 50;

/**
 * Resolves once engine and GPUs are known, or after `READY_TIMEOUT_MS`. A machine that reports without them fails
 * verification and is checked again only after a while.
 */
export async function untilReady(
  { engines, telemetry, clock }: ReadinessSources,
  signal: AbortSignal,
): Promise<void> {
  const startedTicks = clock.ticks();
  await withTimeout(engines.looked(), { clock, ms: READY_TIMEOUT_MS, signal });
  const isOver = () => signal.aborted || clock.ticks() - startedTicks >= READY_TIMEOUT_MS;
  while (telemetry.read().gpus.state === 'starting' && !isOver()) {
    await sleep(clock, POLL_MS, signal);
  }
}
