import { useCallback, useEffect, useState } from 'react';
import type { RequestRow } from '#shared/live.ts';
import type { Access } from './api/access.ts';
import type { Agent } from './api/agent.ts';
import type { SendChat } from './api/chat.ts';
import type { Control } from './api/control.ts';
import type { History as HistoryApi } from './api/history.ts';
import type { LiveData } from './api/live-data.ts';
import type { Providers as Registry } from './api/providers.ts';
import type { Requests as RequestsApi } from './api/requests.ts';
import type { SettingsState } from './api/window-state.ts';
import { About } from './features/about/about.tsx';
import { Chat } from './features/chat/chat.tsx';
import { useConversation } from './features/chat/conversation.ts';
import { History } from './features/history/history.tsx';
import { headlineOf, type HeadlineText, UNREACHABLE } from './features/overview/headline.tsx';
import { Overview } from './features/overview/overview.tsx';
import { upstreamList } from './features/overview/upstream-list.ts';
import { Provider } from './features/providers/provider.tsx';
import { Providers, type ProvidersView } from './features/providers/providers.tsx';
import { feedLabels } from './features/requests/attempt-names.ts';
import { OpenRequest, useOpenRequest } from './features/requests/open-request.tsx';
import { Requests } from './features/requests/requests.tsx';
import type { Drafts } from './features/settings/draft.ts';
import { Settings } from './features/settings/settings.tsx';
import type { Route } from './route.ts';
import { t } from './text/t.ts';

interface LiveProps {
  readonly data: LiveData;
  readonly route: Route;
  readonly control: boolean;
  /** Time of the disconnection, at which clocks stop; null while connected. */
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

/** The pages, rendered from the feed. */
export function Live(props: LiveProps) {
  const { data, control, frozenAt, settings, actions, registry, agent, access, sendChat } = props;
  const isLost = frozenAt !== null;
  const details = useOpenRequest(props.route);
  const { page: route, open } = details;
  const select = useCallback((row: RequestRow) => open(row.id), [open]);
  // Kept here rather than in the page, so that switching tabs does not lose input.
  const [drafts, setDrafts] = useState<Drafts>({});
  const [providersView, setProvidersView] = useState<ProvidersView>({ text: '', sort: 'state' });
  const [opened, setOpened] = useState<string | null>(null);
  const looked = openedBy(route, opened);
  if (looked !== opened) setOpened(looked);
  const chatting = useConversation(sendChat);
  const now = useNow(data, frozenAt);
  const list = upstreamList(data, now);
  const headline = headlineAt(list, data, frozenAt);
  useTitle(headline);
  return (
    <>
      {route.page === 'overview' && (
        <Overview
          {...{ data, list, headline, now, control, settings, actions, agent }}
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
  list: ReturnType<typeof upstreamList>,
  { app }: LiveData,
  frozenAt: number | null,
): ReturnType<typeof headlineOf> {
  return frozenAt === null ? headlineOf(list, app.demo !== undefined) : UNREACHABLE;
}

/** The machine to return to in the list; null once another page is opened. */
function openedBy(route: Route, opened: string | null): string | null {
  if (route.page === 'provider') return route.id;
  return route.page === 'providers' ? opened : null;
}

/** Shows the headline in the tab's title. */
function useTitle(headline: HeadlineText | null): void {
  const title = headline
    ? t.shell.pageTitle(`${headline.lead}${headline.subject}${headline.rest}`)
    : t.shell.product;
  useEffect(() => {
    document.title = title;
  }, [title]);
}

const TICK_MS = 250;

/** Page time, updated only while something on screen counts; `frozenAt` stops it. */
function useNow(data: LiveData | null, frozenAt: number | null): number {
  const [tick, setTick] = useState(() => Date.now());
  const counting = frozenAt === null && data !== null && countsTime(data);
  useEffect(() => {
    if (!counting) return undefined;
    const timer = setInterval(() => setTick(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [counting]);
  return frozenAt ?? Math.max(tick, data?.receivedAt ?? 0);
}

function countsTime({ requests, status }: LiveData): boolean {
  return (
    requests.some(({ state }) => state === 'running') ||
    status.upstreams.some(({ circuit, skips }) => circuit.open || skips.length > 0)
  );
}
