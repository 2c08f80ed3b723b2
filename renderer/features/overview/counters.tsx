import { formatCompact } from '../../text/format.ts';

interface CountersProps {
  readonly inFlight: number;
  readonly requests: number;
  readonly fallbacks: number;
}

/** The three figures of the whole gateway. */
export function Counters({ inFlight, requests, fallbacks }: CountersProps) {
  const share = requests === 0 ? 0 : Math.round((100 * fallbacks) / requests);
  return (
    <dl className="counters">
      <Counter label="in flight" value={formatCompact(inFlight)} />
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
