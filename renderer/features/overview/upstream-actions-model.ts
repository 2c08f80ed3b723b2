import type { StatusReport, UpstreamReport } from '#shared/status.ts';
import type { Station } from './upstream-list.ts';

/** True if a reset would change something: the upstream is skipped, or close to it. */
export function isResettable({ circuit, skips }: UpstreamReport): boolean {
  return circuit.open || skips.length > 0 || circuit.consecutiveFails > 0;
}

/** True if a warm-up can be started; it costs money, so not in zero-spend mode. */
export function isWarmable({ report, condition }: Station, status: StatusReport): boolean {
  if (report.id !== 'ondemand' || condition.kind === 'missing' || status.zero) return false;
  return status.ondemand_warmup === 'idle' || status.ondemand_warmup === 'failed';
}
