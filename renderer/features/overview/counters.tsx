import { OUTCOMES, type OutcomeCounts } from '#shared/live.ts';
import { hashOf } from '../../route.ts';
import { formatCompact } from '../../text/format.ts';
import { t } from '../../text/t.ts';

interface CountersProps {
  readonly inFlight: number;
  /** Requests that wait because too many are in flight. */
  readonly queued: number;
  readonly requests: number;
  /** Null from a gateway that does not tell. */
  readonly outcomes: OutcomeCounts | null;
}

const labels = t.overview.counters;

/** The figures of the whole gateway; each ended request is in one of the last three. */
export function Counters({ inFlight, queued, requests, outcomes }: CountersProps) {
  return (
    <dl className="counters">
      <Counter label={labels.inFlight} value={formatCompact(inFlight)} />
      {queued > 0 && <Counter label={labels.waiting} value={formatCompact(queued)} />}
      <Counter label={labels.requests} value={formatCompact(requests)} />
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
  /** Where the requests that it counts are listed. */
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
