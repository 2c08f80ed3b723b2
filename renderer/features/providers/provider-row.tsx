import { memo } from 'react';
import type { Provider } from '#shared/provider.ts';
import { formatCount } from '../../text/format.ts';
import { chipText, heartbeatAge, modelText, speedText } from './provider-facts.ts';
import { isRechecked, type ProviderEntry } from './provider-standing.ts';
import { gpuTexts } from './provider-gpu.ts';
import { providerWords } from './provider-text.ts';
import { hashOf } from '../../route.ts';
import { ProviderMark } from './provider-mark.tsx';
import { t } from '../../text/t.ts';

interface ProviderRowProps {
  readonly entry: ProviderEntry;
  /** Its line in the list. */
  readonly index: number;
  readonly serverNow: number;
}

/** The whole row is a link. */
export const ProviderRow = memo(function ProviderRow({
  entry,
  index,
  serverNow,
}: ProviderRowProps) {
  const { provider, standing, name, note } = entry;
  const { tone, word, means, what } = providerWords(standing, serverNow);
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
        {name}
      </a>
      <span className="provider-word" title={means}>
        {word}
      </span>
      <span className="provider-model" title={provider.models.join('\n')}>
        {modelText(provider)}
      </span>
      <Figures provider={provider} serverNow={serverNow} />
      <span className="provider-chip" title={note === '' ? (provider.chip ?? undefined) : note}>
        {note === '' ? chipText(provider) : t.providers.row.noted(chipText(provider), note)}
      </span>
      <span className="provider-what" title={what ?? undefined}>
        {what}
        {again && <em>{t.providers.rechecked}</em>}
      </span>
    </div>
  );
});

function Figures({ provider, serverNow }: { provider: Provider; serverNow: number }) {
  const { decode_tps, concurrentRequests } = provider;
  const { load, memory, temperature } = gpuTexts(provider);
  return (
    <span className="provider-figures">
      <span className="provider-figure" data-column="load">
        <span className="provider-unit">{t.providers.row.load}</span>
        {load}
      </span>
      <span className="provider-figure" data-column="memory">
        {memory}
      </span>
      <span className="provider-figure" data-column="temperature">
        {temperature}
      </span>
      <span className="provider-figure" data-column="version">
        <span className="unseen">{t.providers.row.version}</span>
        {provider.agent_version}
      </span>
      <span className="provider-figure" data-column="speed">
        {speedText(decode_tps)}
        <span className="provider-unit">{t.providers.row.speed}</span>
      </span>
      <span className="provider-figure" data-column="inFlight">
        {formatCount(concurrentRequests)}
        <span className="provider-unit">{t.providers.row.inFlight}</span>
      </span>
      <span className="provider-figure" data-column="heartbeat">
        <span className="unseen">{t.providers.row.heartbeat}</span>
        {heartbeatAge(provider, serverNow)}
      </span>
    </span>
  );
}
