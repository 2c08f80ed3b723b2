import { OUTCOMES } from '#shared/live.ts';
import type { LiveData } from '../../api/live-data.ts';
import { hashOf } from '../../route.ts';
import { formatCompact } from '../../text/format.ts';
import { t } from '../../text/t.ts';

interface CountersProps {
  readonly data: LiveData;
  /** True before the first request, when there is nothing to count. */
  readonly isFirstRun: boolean;
}

const labels = t.overview.counters;

/** The gateway's counters; each finished request is in one of the last three. */
export function Counters({ data, isFirstRun }: CountersProps) {
  const { outcomes, status } = data;
  if (isFirstRun && status.stats.totalRequests === 0) return null;
  const { queued } = status.admission;
  const inFlight = data.requests.filter(({ state }) => state === 'running').length;
  return (
    <dl className="counters">
      <Counter label={labels.inFlight} value={formatCompact(inFlight)} />
      {queued > 0 && <Counter label={labels.waiting} value={formatCompact(queued)} />}
      <Counter label={labels.requests} value={formatCompact(status.stats.totalRequests)} />
      {outcomes !== null &&
        OUTCOMES.map((outcome) => (
          <Counter
            key={outcome}
            label={labels[outcome]}
            value={formatCompact(outcomes.ended[outcome])}
            hash={hashOf({ page: 'requests', filter: outcome })}
          />
        ))}
    </dl>
  );
}

interface CounterProps {
  readonly label: string;
  readonly value: string;
  /** Link to the list of the counted requests. */
  readonly hash?: string;
}

function Counter({ label, value, hash }: CounterProps) {
  return (
    <div>
      <dt>{hash === undefined ? label : <a href={hash}>{label}</a>}</dt>
      <dd>{value}</dd>
    </div>
  );
}
