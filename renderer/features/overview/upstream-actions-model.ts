import type { StatusReport, UpstreamReport } from '#shared/status.ts';
import type { Station } from './upstream-list.ts';

/** True where a reset would change something: out of use, or on the way there. */
export function isResettable({ circuit, skips }: UpstreamReport): boolean {
  return circuit.open || skips.length > 0 || circuit.consecutiveFails > 0;
}

/** True where a warm-up can be asked for: it costs money, so not while none is to be spent. */
export function isWarmable({ report, condition }: Station, status: StatusReport): boolean {
  if (report.id !== 'ondemand' || condition.kind === 'missing' || status.zero) return false;
  return status.ondemand_warmup === 'idle' || status.ondemand_warmup === 'failed';
}
