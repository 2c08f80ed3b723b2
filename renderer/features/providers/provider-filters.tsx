import { formatCount } from '../../text/format.ts';
import { PROVIDER_FILTERS, type ProviderFilter } from './provider-groups.ts';
import { PROVIDER_SORTS, type ProviderSort } from './provider-sort.ts';
import { matchesGroup } from './provider-listing.ts';
import type { ProviderEntry } from './provider-standing.ts';
import { hashOf } from '../../route.ts';
import { t } from '../../text/t.ts';

interface ProviderFiltersProps {
  readonly entries: readonly ProviderEntry[];
  readonly filter: ProviderFilter;
  readonly text: string;
  readonly sort: ProviderSort;
  readonly onText: (text: string) => void;
  readonly onSort: (sort: ProviderSort) => void;
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
        {t.providers.sort.label}
        <select
          value={sort}
          onChange={({ target }) => {
            const chosen = PROVIDER_SORTS.find((known) => known === target.value);
            if (chosen !== undefined) onSort(chosen);
          }}
        >
          {PROVIDER_SORTS.map((known) => (
            <option key={known} value={known}>
              {t.providers.sort[known]}
            </option>
          ))}
        </select>
      </label>
    </search>
  );
}
