import { useState } from 'react';
import { formatCount } from '../../text/format.ts';
import { GROUP_LABELS } from './provider-groups.ts';
import { groupsOf, type ProviderEntry } from './provider-listing.ts';
import { ProviderRow } from './provider-row.tsx';

interface ProviderListProps {
  readonly entries: readonly ProviderEntry[];
  readonly serverNow: number;
}

/** More rows than this make every refresh felt; nobody reads so many at once. */
const DRAWN_AT_ONCE = 200;

/** Machines in their groups, what needs attention first. */
export function ProviderList({ entries, serverNow }: ProviderListProps) {
  const [limit, setLimit] = useState(DRAWN_AT_ONCE);
  const hidden = entries.length - limit;
  return (
    <div className="provider-list">
      <div className="provider-columns" aria-hidden="true">
        <span>Machine</span>
        <span>State</span>
        <span>Model</span>
        <span>Tokens/s</span>
        <span>In flight</span>
        <span>Heartbeat</span>
      </div>
      {groupsOf(entries, limit).map(({ group, entries: rows }) => (
        <section key={group} aria-labelledby={`group-${group}`}>
          <h2 id={`group-${group}`}>{GROUP_LABELS[group]}</h2>
          <ol>
            {rows.map((entry) => (
              <ProviderRow key={entry.provider.id} entry={entry} serverNow={serverNow} />
            ))}
          </ol>
        </section>
      ))}
      {hidden > 0 && (
        <p className="provider-more">
          <button type="button" className="button" onClick={() => setLimit(limit + DRAWN_AT_ONCE)}>
            Show {formatCount(Math.min(hidden, DRAWN_AT_ONCE))} more
          </button>{' '}
          <span className="quiet">{formatCount(hidden)} machines are not drawn yet.</span>
        </p>
      )}
    </div>
  );
}
