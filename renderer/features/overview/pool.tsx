import { SILENT_MS } from '#shared/pool.ts';
import type { PoolReport } from '#shared/status.ts';
import { formatAge, formatCompact, formatCount, formatMoment } from '../../text/format.ts';
import { t } from '../../text/t.ts';
import { Fact } from '../../ui/facts.tsx';
import { StateWord } from '../../ui/state-word.tsx';
import { useWindow } from '../../window-context.ts';

const words = t.overview.pool;

type Member = PoolReport['gateways'][number];

/** The gateways of the pool, their totals, and this gateway's share. */
export function Pool({ pool }: { readonly pool: PoolReport }) {
  // All gateways share the machines.
  const { providers: machines } = useWindow().data;
  const { gateways, problem, totals } = pool;
  const own = gateways.find(({ id }) => id === pool.gateway);
  return (
    <section className="pool panel" aria-labelledby="pool-title">
      <header className="panel-head">
        <h2 id="pool-title">{words.title}</h2>
      </header>
      {pool.database === 'away' && (
        <div className="pool-away" data-tone="amber">
          <p>{words.isAway}</p>
          {problem !== null && <p className="quiet">{problem}</p>}
        </div>
      )}
      <dl className="pool-totals">
        <Fact label={words.gateways} value={formatCount(gateways.length)} />
        {machines !== null && (
          <Fact
            label={words.verified}
            value={words.verifiedOf(formatCount(machines.verified), formatCount(machines.count))}
          />
        )}
        <Total
          label={words.inFlight}
          all={gateways.reduce((sum, each) => sum + each.in_flight, 0)}
          own={own?.in_flight}
        />
        <Total label={words.requests} all={totals.requests} own={own?.requests} />
        <Total label={words.answers} all={totals.answers} own={own?.answers} />
        <Total label={words.tokens} all={totals.tokens} own={own?.tokens} />
      </dl>
      <ul className="pool-gateways">
        {gateways.map((each) => (
          <Gateway key={each.id} gateway={each} isOwn={each === own} />
        ))}
      </ul>
    </section>
  );
}

interface TotalProps {
  readonly label: string;
  readonly all: number;
  readonly own: number | undefined;
}

function Total({ label, all, own }: TotalProps) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        {formatCompact(all)}
        {own !== undefined && <small>{words.own(formatCompact(own))}</small>}
      </dd>
    </div>
  );
}

function Gateway({ gateway, isOwn }: { readonly gateway: Member; readonly isOwn: boolean }) {
  const { now } = useWindow();
  const { host, version, seen_ms: seenMs, behind } = gateway;
  const isSilent = seenMs > SILENT_MS;
  return (
    <li data-tone={isSilent ? 'amber' : 'green'}>
      <h3>
        {host}
        {isOwn && <small>{words.this}</small>}
      </h3>
      <p className="state">
        <StateWord {...(isSilent ? words.silent : words.here)} />
        <span className="quiet">
          {isSilent ? words.seen(formatAge(seenMs)) : words.version(version)}
        </span>
      </p>
      <dl>
        <Fact label={words.since} value={formatMoment(Date.parse(gateway.started_at), now)} />
        <Fact label={words.lag} value={behind === 0 ? words.upToDate : words.behind(behind)} />
        <Fact label={words.leases} value={formatCount(gateway.leases)} />
        <Fact label={words.machines} value={formatCount(gateway.machines)} />
        <Fact label={words.verifiedHere} value={formatCount(gateway.verified)} />
        <Fact label={words.inFlight} value={formatCount(gateway.in_flight)} />
        <Fact label={words.requests} value={formatCompact(gateway.requests)} />
      </dl>
    </li>
  );
}
