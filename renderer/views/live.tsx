import { useState } from 'react';
import type { RequestRow } from '#shared/live.ts';
import type { SetFault } from '../components/demo-note.tsx';
import { RequestDialog } from '../components/request-dialog.tsx';
import type { LiveData } from '../data/live-data.ts';
import { useNow } from '../hooks/use-now.ts';
import { useTitle } from '../hooks/use-title.ts';
import { headlineOf } from '../model/headline.ts';
import { lineOf } from '../model/line.ts';
import { labelsOf } from '../model/request-words.ts';
import type { Route } from '../model/route.ts';
import { Overview } from './overview.tsx';
import { Requests } from './requests.tsx';

interface LiveProps {
  readonly data: LiveData;
  readonly route: Route;
  readonly control: boolean;
  /** When the line broke: nothing after it is known, so all clocks stand still there. */
  readonly frozenAt: number | null;
  readonly onFault: SetFault;
}

/** Everything that is drawn from the feed. */
export function Live({ data, route, control, frozenAt, onFault }: LiveProps) {
  const [selectedRow, select] = useState<RequestRow | null>(null);
  const now = useNow(data, frozenAt);
  const line = lineOf(data, now);
  const headline = headlineOf(line, data.app.demo !== undefined);
  useTitle(headline);
  // A row that has left the feed stays readable for as long as its details are open.
  const selected = data.requests.find(({ id }) => id === selectedRow?.id) ?? selectedRow;
  return (
    <>
      {route.page === 'overview' ? (
        <Overview {...{ data, line, headline, now, control, onFault }} onSelect={select} />
      ) : (
        <Requests data={data} now={now} filter={route.filter} onSelect={select} />
      )}
      {selected && (
        <RequestDialog
          row={selected}
          labels={labelsOf(data.status.upstreams)}
          serverNow={now + data.skewMs}
          onClose={() => select(null)}
        />
      )}
    </>
  );
}
