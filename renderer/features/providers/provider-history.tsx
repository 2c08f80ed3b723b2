import type { ProviderEvent } from '#shared/provider.ts';
import { formatMoment } from '../../text/format.ts';

interface ProviderHistoryProps {
  /** Null where it could not be read. */
  readonly history: readonly ProviderEvent[] | null;
  readonly serverNow: number;
}

const KINDS: Readonly<Record<ProviderEvent['kind'], string>> = {
  enrolled: 'joined',
  status: 'status',
  verification: 'check',
};

/** Newest first. */
export function ProviderHistory({ history, serverNow }: ProviderHistoryProps) {
  if (history === null) return <p className="panel-text">The history could not be read.</p>;
  if (history.length === 0) return <p className="panel-text">Nothing has happened yet.</p>;
  return (
    <ol className="history">
      {history.map(({ at, kind, text }, place) => (
        <li key={`${history.length - place} ${at}`}>
          <time dateTime={at}>{formatMoment(Date.parse(at), serverNow)}</time>
          <span className="history-kind">{KINDS[kind]}</span>
          <span>{text}</span>
        </li>
      ))}
    </ol>
  );
}
