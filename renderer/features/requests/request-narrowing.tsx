import { useEffect, useRef } from 'react';
import { type Labels, machineName } from './attempt-names.ts';
import { type Facet, FACETS, type FacetValues, type Narrowing } from '#shared/request-filter.ts';
import { COLLATOR } from '../../text/format.ts';
import { reasonText } from '../../text/reason-text.ts';
import { SEARCH_KEY, useShortcut } from '../../ui/use-shortcut.ts';
import { t } from '../../text/t.ts';

interface RequestNarrowingProps {
  readonly facets: FacetValues;
  readonly labels: Labels;
  readonly by: Narrowing;
  readonly onChange: (by: Narrowing) => void;
}

/** The search field and one select for each property in which the requests differ. */
export function RequestNarrowing({ facets, labels, by, onChange }: RequestNarrowingProps) {
  const search = useRef<HTMLInputElement>(null);
  useShortcut(SEARCH_KEY, () => search.current?.focus());
  useEffect(() => {
    // The address can change without the field, as with the Back button.
    if (search.current && search.current.value !== (by.text ?? '')) {
      search.current.value = by.text ?? '';
    }
  }, [by.text]);
  const wordOf = (facet: Facet, value: string) => {
    if (facet === 'upstream') return labels.get(value) ?? value;
    if (facet === 'machine') return machineName(value, labels);
    return facet === 'reason' ? reasonText(value) : value;
  };
  return (
    <search className="narrowing">
      <input
        ref={search}
        type="search"
        defaultValue={by.text ?? ''}
        placeholder={t.requests.searchHint}
        aria-label={t.requests.search}
        onChange={({ target }) => onChange(changed(by, 'text', target.value))}
      />
      {FACETS.map((facet) => {
        const values = facets[facet];
        const chosen = by[facet] ?? '';
        if (chosen === '' && values.length < 2) return null;
        return (
          <select
            key={facet}
            aria-label={t.requests.facets[facet].label}
            value={chosen}
            onChange={({ target }) => onChange(changed(by, facet, target.value))}
          >
            <option value="">{t.requests.facets[facet].all}</option>
            {[...new Set([...values, ...(chosen === '' ? [] : [chosen])])]
              .map((value) => ({ value, word: wordOf(facet, value) }))
              .toSorted((a, b) => COLLATOR.compare(a.word, b.word))
              .map(({ value, word }) => (
                <option key={value} value={value}>
                  {word}
                </option>
              ))}
          </select>
        );
      })}
    </search>
  );
}

function changed(by: Narrowing, part: Facet | 'text', value: string): Narrowing {
  const { [part]: _, ...rest } = by;
  return value === '' ? rest : { ...rest, [part]: value };
}
