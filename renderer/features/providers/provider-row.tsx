import { memo } from 'react';
import { columnOf, FIGURE_COLUMNS } from './provider-columns.ts';
import { chipText } from './provider-facts.ts';
import { isRechecked, type ProviderEntry } from './provider-standing.ts';
import { providerWords } from './provider-text.ts';
import { hashOf } from '../../route.ts';
import { ProviderMark } from './provider-mark.tsx';
import { t } from '../../text/t.ts';

interface ProviderRowProps {
  readonly entry: ProviderEntry;
  /** The row's position in the list. */
  readonly index: number;
  readonly serverNow: number;
}

/** A machine's row, which is a link as a whole. */
export const ProviderRow = memo(function ProviderRow({
  entry,
  index,
  serverNow,
}: ProviderRowProps) {
  const { provider, standing, note } = entry;
  const { tone, means, what } = providerWords(standing, serverNow);
  const again = isRechecked(provider, standing);
  return (
    <div className="provider" data-tone={tone}>
      <ProviderMark kind={standing.kind} />
      <a
        className="provider-name"
        data-index={index}
        data-id={provider.id}
        href={hashOf({ page: 'provider', id: provider.id })}
      >
        {columnOf('machine').value(entry, serverNow)}
      </a>
      <span className="provider-word" title={means}>
        {columnOf('state').value(entry, serverNow)}
      </span>
      <span className="provider-model" title={provider.models.join('\n')}>
        {columnOf('model').value(entry, serverNow)}
      </span>
      <Figures entry={entry} serverNow={serverNow} />
      <span className="provider-chip" title={note === '' ? (provider.chip ?? undefined) : note}>
        {note === '' ? chipText(provider) : t.providers.noted(chipText(provider), note)}
      </span>
      <span className="provider-what" title={what ?? undefined}>
        {what}
        {again && <em>{t.providers.rechecked}</em>}
      </span>
    </div>
  );
});

function Figures({ entry, serverNow }: Omit<ProviderRowProps, 'index'>) {
  return (
    <span className="provider-figures">
      {FIGURE_COLUMNS.map((id) => {
        const { aloud, before, value, after } = columnOf(id);
        return (
          <span key={id} className="provider-figure" data-column={id}>
            {aloud !== undefined && <span className="unseen">{aloud}</span>}
            {before !== undefined && <span className="provider-unit">{before}</span>}
            {value(entry, serverNow)}
            {after !== undefined && <span className="provider-unit">{after}</span>}
          </span>
        );
      })}
    </span>
  );
}
