import { useState } from 'react';
import type { RequestRow } from '#shared/live.ts';
import { RequestDialog } from './features/requests/request-dialog.tsx';
import type { Agent } from './api/agent.ts';
import type { History as HistoryApi } from './api/history.ts';
import type { Control } from './api/control.ts';
import type { LiveData } from './api/live-data.ts';
import type { Providers as Registry } from './api/providers.ts';
import type { SettingsState } from './api/window-state.ts';
import { useNow } from './ui/use-now.ts';
import { useTitle } from './ui/use-title.ts';
import { labelsOf } from './features/requests/attempt-names.ts';
import type { Drafts } from './features/settings/draft.ts';
import { headlineOf } from './features/overview/status-summary-text.ts';
import { lineOf } from './features/overview/upstream-list.ts';
import type { Route } from './route.ts';
import { History } from './features/history/history.tsx';
import { Overview } from './features/overview/overview.tsx';
import { Provider } from './features/providers/provider.tsx';
import { Providers } from './features/providers/providers.tsx';
import { Requests } from './features/requests/requests.tsx';
import { Settings } from './features/settings/settings.tsx';

interface LiveProps {
  readonly data: LiveData;
  readonly route: Route;
  readonly control: boolean;
  /** Time of the disconnection; clocks stop there, because nothing later is known. */
  readonly frozenAt: number | null;
  readonly settings: SettingsState;
  readonly actions: Control;
  readonly registry: Registry;
  readonly agent: Agent;
  readonly history: HistoryApi;
}

/** Everything that is drawn from the feed. */
export function Live(props: LiveProps) {
  const { data, route, control, frozenAt, settings, actions, registry, agent, history } = props;
  const [selectedRow, select] = useState<RequestRow | null>(null);
  // Here rather than in the page itself: a look at another tab does not lose what was entered.
  const [drafts, setDrafts] = useState<Drafts>({});
  const [providerText, setProviderText] = useState('');
  const [opened, setOpened] = useState<string | null>(null);
  const looked = openedBy(route, opened);
  if (looked !== opened) setOpened(looked);
  const now = useNow(data, frozenAt);
  const line = lineOf(data, now);
  const headline = headlineOf(line, data.app.demo !== undefined);
  useTitle(headline);
  // A row that has left the feed stays readable for as long as its details are open.
  const selected = data.requests.find(({ id }) => id === selectedRow?.id) ?? selectedRow;
  return (
    <>
      {route.page === 'overview' && (
        <Overview
          {...{ data, line, headline, now, control, settings, actions }}
          onSelect={select}
        />
      )}
      {route.page === 'providers' && (
        <Providers
          {...{ data, control, settings, frozenAt, registry, agent, opened }}
          saveSettings={actions.saveSettings}
          filter={route.filter}
          joining={route.joining === true}
          text={providerText}
          onText={setProviderText}
        />
      )}
      {route.page === 'provider' && (
        <Provider key={route.id} id={route.id} {...{ data, control, frozenAt, registry, agent }} />
      )}
      {route.page === 'requests' && (
        <Requests data={data} now={now} filter={route.filter} onSelect={select} />
      )}
      {route.page === 'history' && (
        <History
          range={route.range}
          history={history}
          upstreams={data.status.upstreams}
          revision={data.status.stats.totalRequests}
        />
      )}
      {route.page === 'settings' && (
        <Settings
          {...{ settings, control, actions, drafts }}
          upstreams={data.status.upstreams}
          opened={route.section}
          onDrafts={setDrafts}
        />
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

/** The machine to come back to in the list: forgotten once one goes elsewhere. */
function openedBy(route: Route, opened: string | null): string | null {
  if (route.page === 'provider') return route.id;
  return route.page === 'providers' ? opened : null;
}
