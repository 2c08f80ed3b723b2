import { formatCount } from '../../text/format.ts';
import { PROVIDER_FILTERS, type ProviderFilter } from './provider-groups.ts';
import { COLUMN_IDS, type ColumnId, columnOf } from './provider-columns.ts';
import { matchesGroup } from './provider-listing.ts';
import type { ProviderEntry } from './provider-standing.ts';
import { hashOf } from '../../route.ts';
import { t } from '../../text/t.ts';

interface ProviderFiltersProps {
  readonly entries: readonly ProviderEntry[];
  readonly filter: ProviderFilter;
  readonly text: string;
  readonly sort: ColumnId;
  readonly onText: (text: string) => void;
  readonly onSort: (sort: ColumnId) => void;
}

/** The state filter is part of the URL. */
export function ProviderFilters(props: ProviderFiltersProps) {
  const { entries, filter, text, sort, onText, onSort } = props;
  return (
    <search className="provider-filters">
      <nav className="filters" aria-label={t.providers.filters.label}>
        {PROVIDER_FILTERS.map((choice) => (
          <a
            key={choice}
            href={hashOf({ page: 'providers', filter: choice })}
            aria-current={choice === filter ? 'true' : undefined}
          >
            {t.providers.groups[choice]}{' '}
            <span className="filter-count">
              {formatCount(entries.filter((entry) => matchesGroup(entry, choice)).length)}
            </span>
          </a>
        ))}
      </nav>
      <input
        type="search"
        className="search"
        aria-label={t.providers.filters.search}
        placeholder={t.providers.filters.placeholder}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={({ target }) => onText(target.value)}
      />
      <label className="provider-sort">
        {t.providers.sortBy}
        <select
          value={sort}
          onChange={({ target }) => {
            const chosen = COLUMN_IDS.find((known) => known === target.value);
            if (chosen !== undefined) onSort(chosen);
          }}
        >
          {COLUMN_IDS.map((known) => (
            <option key={known} value={known}>
              {columnOf(known).sort}
            </option>
          ))}
        </select>
      </label>
    </search>
  );
}
