import { formatCount } from '../../text/format.ts';
import { PROVIDER_FILTERS, type ProviderFilter } from './provider-groups.ts';
import { matchesGroup, type ProviderEntry } from './provider-listing.ts';
import { hashOf } from '../../route.ts';
import { t } from '../../text/t.ts';

interface ProviderFiltersProps {
  readonly entries: readonly ProviderEntry[];
  readonly filter: ProviderFilter;
  readonly text: string;
  readonly onText: (text: string) => void;
}

/** The state filter is part of the URL. */
export function ProviderFilters({ entries, filter, text, onText }: ProviderFiltersProps) {
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
    </search>
  );
}
