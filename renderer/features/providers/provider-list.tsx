import { useState } from 'react';

import { groupsOf, type ProviderEntry } from './provider-listing.ts';
import { ProviderRow } from './provider-row.tsx';
import { t } from '../../text/t.ts';

interface ProviderListProps {
  readonly entries: readonly ProviderEntry[];
  readonly serverNow: number;
}

/** More rows than this make every refresh felt; nobody reads so many at once. */
const DRAWN_AT_ONCE = 200;

const words = t.providers;

/** Machines in their groups, what needs attention first. */
export function ProviderList({ entries, serverNow }: ProviderListProps) {
  const [limit, setLimit] = useState(DRAWN_AT_ONCE);
  const hidden = entries.length - limit;
  return (
    <div className="provider-list">
      <div className="provider-columns" aria-hidden="true">
        <span>{words.columns.machine}</span>
        <span>{words.columns.state}</span>
        <span>{words.columns.model}</span>
        <span>{words.columns.speed}</span>
        <span>{words.columns.inFlight}</span>
        <span>{words.columns.heartbeat}</span>
      </div>
      {groupsOf(entries, limit).map(({ group, entries: rows }) => (
        <section key={group} aria-labelledby={`group-${group}`}>
          <h2 id={`group-${group}`}>{words.groups[group]}</h2>
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
            {words.more(Math.min(hidden, DRAWN_AT_ONCE))}
          </button>{' '}
          <span className="quiet">{words.notDrawn(hidden)}</span>
        </p>
      )}
    </div>
  );
}
