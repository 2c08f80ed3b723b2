import { SILENT_MS } from '#shared/pool.ts';
import type { PoolReport } from '#shared/status.ts';
import { formatAge, formatCompact, formatCount, formatMoment } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { Fact, StateWord } from '../../ui/facts.tsx';
import { useWindow } from '../../window-context.ts';

const words = t.overview.pool;

type Member = PoolReport['gateways'][number];

export function Pool({ pool }: { readonly pool: PoolReport }) {
  // All gateways share the machines.
  const { providers: machines } = useWindow().data;
  const { gateways, problem, totals } = pool;
  const own = gateways.find(({ id }) => id === pool.gateway);
  const inFlight = gateways.reduce((sum, each) => sum + each.in_flight, 0);
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
      <dl className="sums">
        <Fact label={words.gateways} value={formatCount(gateways.length)} />
        {machines !== null && (
          <Fact
            label={words.verified}
            value={words.verifiedOf(formatCount(machines.verified), formatCount(machines.count))}
          />
        )}
        <Fact label={words.inFlight} value={sumOf(inFlight, own?.in_flight)} />
        <Fact label={words.requests} value={sumOf(totals.requests, own?.requests)} />
        <Fact label={words.answers} value={sumOf(totals.answers, own?.answers)} />
        <Fact label={words.tokens} value={sumOf(totals.tokens, own?.tokens)} />
      </dl>
      <ul className="pool-gateways">
        {gateways.map((each) => (
          <Gateway key={each.id} gateway={each} isOwn={each === own} />
        ))}
      </ul>
    </section>
  );
}

const sumOf = (all: number, own: number | undefined) => (
  <>
    {formatCompact(all)}
    {own !== undefined && <small>{words.own(formatCompact(own))}</small>}
  </>
);

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
      <p className="row">
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
