import { memo } from 'react';
import type { Provider } from '#shared/provider.ts';
import { formatCount } from '../../text/format.ts';
import { chipText, heartbeatAge, modelText, speedText } from './provider-facts.ts';
import type { ProviderEntry } from './provider-listing.ts';
import { isRechecked } from './provider-standing.ts';
import { providerName, providerWords } from './provider-text.ts';
import { hashOf } from '../../route.ts';
import { ProviderMark } from './provider-mark.tsx';
import { t } from '../../text/t.ts';

interface ProviderRowProps {
  readonly entry: ProviderEntry;
  readonly serverNow: number;
}

/** Id of a row's link, to come back to. */
export function rowId(id: string): string {
  return `row-${id}`;
}

/** The whole row is a link. */
export const ProviderRow = memo(function ProviderRow({ entry, serverNow }: ProviderRowProps) {
  const { provider, standing } = entry;
  const { tone, word, means, what } = providerWords(standing, serverNow);
  const again = isRechecked(provider, standing);
  return (
    <li className="provider" data-tone={tone}>
      <ProviderMark kind={standing.kind} />
      <a
        className="provider-name"
        id={rowId(provider.id)}
        href={hashOf({ page: 'provider', id: provider.id })}
      >
        {providerName(provider)}
      </a>
      <span className="provider-word" title={means}>
        {word}
      </span>
      <span className="provider-model" title={provider.models.join('\n')}>
        {modelText(provider)}
      </span>
      <Figures provider={provider} serverNow={serverNow} />
      <span className="provider-chip" title={provider.chip ?? undefined}>
        {chipText(provider)}
      </span>
      <span className="provider-what">
        {what}
        {again && <em>{t.providers.rechecked}</em>}
      </span>
    </li>
  );
});

function Figures({ provider, serverNow }: { provider: Provider; serverNow: number }) {
  const { decode_tps, concurrentRequests } = provider;
  return (
    <span className="provider-figures">
      <span className="provider-figure">
        {speedText(decode_tps)}
        <span className="provider-unit">{t.providers.row.speed}</span>
      </span>
      <span className="provider-figure">
        {formatCount(concurrentRequests)}
        <span className="provider-unit">{t.providers.row.inFlight}</span>
      </span>
      <span className="provider-figure">
        <span className="unseen">{t.providers.row.heartbeat}</span>
        {heartbeatAge(provider, serverNow)}
      </span>
    </span>
  );
}
