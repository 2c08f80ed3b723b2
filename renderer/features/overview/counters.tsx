import { formatCompact } from '../../text/format.ts';

interface CountersProps {
  readonly inFlight: number;
  /** Requests that wait because too many are in flight. */
  readonly queued: number;
  readonly requests: number;
  readonly fallbacks: number;
}

/** The figures of the whole gateway. */
export function Counters({ inFlight, queued, requests, fallbacks }: CountersProps) {
  const share = requests === 0 ? 0 : Math.round((100 * fallbacks) / requests);
  return (
    <dl className="counters">
      <Counter label="in flight" value={formatCompact(inFlight)} />
      {queued > 0 && <Counter label="waiting" value={formatCompact(queued)} />}
      <Counter label="requests" value={formatCompact(requests)} />
      <Counter label={`fallbacks (${share}%)`} value={formatCompact(fallbacks)} />
    </dl>
  );
}

function Counter({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}
