import { useCallback, useState, useEffect } from 'react';
import type { RequestRow } from '#shared/live.ts';
import type { Access } from './api/access.ts';
import { About } from './features/about/about.tsx';
import type { Agent } from './api/agent.ts';
import type { SendChat } from './api/chat.ts';
import type { History as HistoryApi } from './api/history.ts';
import type { Control } from './api/control.ts';
import type { LiveData } from './api/live-data.ts';
import type { Providers as Registry } from './api/providers.ts';
import type { Requests as RequestsApi } from './api/requests.ts';
import type { SettingsState } from './api/window-state.ts';
import { useNow } from './ui/use-now.ts';
import type { Drafts } from './features/settings/draft.ts';
import { headlineOf, UNREACHABLE, type Headline } from './features/overview/status-summary-text.ts';
import { lineOf } from './features/overview/upstream-list.ts';
import { Chat } from './features/chat/chat.tsx';
import { useChatting } from './features/chat/use-chatting.ts';
import type { Route } from './route.ts';
import { useOpenRequest } from './use-open-request.ts';
import { History } from './features/history/history.tsx';
import { Overview } from './features/overview/overview.tsx';
import { Provider } from './features/providers/provider.tsx';
import { Providers, type ProvidersView } from './features/providers/providers.tsx';
import { feedLabels } from './features/requests/attempt-names.ts';
import { OpenRequest } from './features/requests/open-request.tsx';
import { Requests } from './features/requests/requests.tsx';
import { Settings } from './features/settings/settings.tsx';
import { t } from './text/t.ts';

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
  readonly sendChat: SendChat;
  readonly access: Access;
  readonly history: HistoryApi;
  readonly requests: RequestsApi;
}

/** Everything that is drawn from the feed. */
export function Live(props: LiveProps) {
  const { data, control, frozenAt, settings, actions, registry, agent, access, sendChat } = props;
  const isLost = frozenAt !== null;
  const details = useOpenRequest(props.route);
  const { page: route, open } = details;
  const select = useCallback((row: RequestRow) => open(row.id), [open]);
  // Here rather than in the page itself: a look at another tab does not lose what was entered.
  const [drafts, setDrafts] = useState<Drafts>({});
  const [providersView, setProvidersView] = useState<ProvidersView>({ text: '', sort: 'state' });
  const [opened, setOpened] = useState<string | null>(null);
  const looked = openedBy(route, opened);
  if (looked !== opened) setOpened(looked);
  const chatting = useChatting(sendChat);
  const now = useNow(data, frozenAt);
  const line = lineOf(data, now);
  const headline = headlineAt(line, data, frozenAt);
  useTitle(headline);
  return (
    <>
      {route.page === 'overview' && (
        <Overview
          {...{ data, line, headline, now, control, settings, actions, agent }}
          history={props.history}
          isHeld={details.id !== null}
          onSelect={select}
        />
      )}
      {route.page === 'chat' && (
        <Chat {...{ data, now, chatting }} readModels={actions.readModels} />
      )}
      {route.page === 'providers' && (
        <Providers
          {...{ data, control, settings, frozenAt, registry, agent, opened }}
          saveSettings={actions.saveSettings}
          filter={route.filter}
          joining={route.joining === true}
          view={providersView}
          onView={setProvidersView}
        />
      )}
      {route.page === 'provider' && (
        <Provider key={route.id} id={route.id} {...{ data, control, frozenAt, registry, agent }} />
      )}
      {route.page === 'requests' && (
        <Requests
          {...{ data, now, details }}
          requests={props.requests}
          filter={route.filter}
          by={route.by}
          onSelect={select}
        />
      )}
      {route.page === 'history' && (
        <History
          range={route.range}
          history={props.history}
          upstreams={data.status.upstreams}
          revision={data.status.stats.totalRequests}
        />
      )}
      {route.page === 'settings' && (
        <>
          <Settings
            {...{ settings, actions, drafts }}
            control={control}
            isLost={isLost}
            upstreams={data.status.upstreams}
            opened={route.section}
            onDrafts={setDrafts}
          />
          {control && (
            <About {...{ access, isLost }} baseUrl={data.app.baseUrl} opened={route.section} />
          )}
        </>
      )}
      {route.page !== 'requests' && (
        <OpenRequest
          {...{ data, now, details }}
          labels={feedLabels(data)}
          requests={props.requests}
          rows={data.requests}
        />
      )}
    </>
  );
}

function headlineAt(
  line: ReturnType<typeof lineOf>,
  { app }: LiveData,
  frozenAt: number | null,
): ReturnType<typeof headlineOf> {
  return frozenAt === null ? headlineOf(line, app.demo !== undefined) : UNREACHABLE;
}

/** The machine to come back to in the list: forgotten once one goes elsewhere. */
function openedBy(route: Route, opened: string | null): string | null {
  if (route.page === 'provider') return route.id;
  return route.page === 'providers' ? opened : null;
}

/** Puts the sentence into the tab's title, where it is seen without opening the page. */
function useTitle(headline: Headline | null): void {
  const title = headline
    ? t.shell.pageTitle(`${headline.lead}${headline.subject}${headline.rest}`)
    : t.shell.product;
  useEffect(() => {
    document.title = title;
  }, [title]);
}
