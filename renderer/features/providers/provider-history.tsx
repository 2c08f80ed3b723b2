import type { ProviderEvent } from '#shared/provider.ts';
import { formatMoment } from '../../text/format.ts';
import { t } from '../../text/t.ts';

interface ProviderHistoryProps {
  /** Null where it could not be read. */
  readonly history: readonly ProviderEvent[] | null;
  readonly serverNow: number;
}

const words = t.providers.history;

/** Newest first. */
export function ProviderHistory({ history, serverNow }: ProviderHistoryProps) {
  if (history === null) return <p className="panel-text">{words.unreadable}</p>;
  if (history.length === 0) return <p className="panel-text">{words.none}</p>;
  return (
    <ol className="history">
      {history.map(({ at, kind, text }, place) => (
        <li key={`${history.length - place} ${at}`}>
          <time dateTime={at}>{formatMoment(Date.parse(at), serverNow)}</time>
          <span className="history-kind">{words.kinds[kind]}</span>
          <span>{text}</span>
        </li>
      ))}
    </ol>
  );
}
