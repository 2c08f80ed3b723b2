import { useCallback, useEffect, useState } from 'react';
import type { RequestRow } from '#shared/live.ts';
import type { LiveData } from './api/window-state.ts';
import type { Inglenook } from './api/inglenook.ts';
import { About } from './features/about/about.tsx';
import { History } from './features/history/history.tsx';
import { Models } from './features/models/models.tsx';
import { headlineOf, type HeadlineText, UNREACHABLE } from './features/overview/headline-text.ts';
import { Overview } from './features/overview/overview.tsx';
import { upstreamList } from './features/overview/upstream-list.ts';
import { Provider } from './features/providers/provider.tsx';
import { Providers, type ProvidersView } from './features/providers/providers.tsx';
import { feedLabels } from './features/requests/request-text.ts';
import { OpenRequest, useOpenRequest } from './features/requests/open-request.tsx';
import { Requests } from './features/requests/requests.tsx';
import type { Drafts } from './features/settings/draft.ts';
import { Settings } from './features/settings/settings.tsx';
import { hashOf, type Route } from './route.ts';
import { ReadOnlyNote } from './ui/buttons.tsx';
import { usePageFocus } from './ui/use-page-focus.ts';
import { type WindowContent, WindowContext } from './window-context.ts';

interface LiveProps extends Pick<WindowContent, 'data' | 'frozenAt' | 'control' | 'settings'> {
  readonly inglenook: Inglenook;
  /** Why this page has no control; null if its owner has not tried to get it. */
  readonly notice: string | null;
  readonly route: Route;
}

export function Live(props: LiveProps) {
  const { inglenook, route: address, data, frozenAt, control, notice, settings } = props;
  const details = useOpenRequest(address);
  const { page: route, open } = details;
  usePageFocus(route.page === 'provider' ? hashOf(route) : route.page);
  const select = useCallback((row: RequestRow) => open(row.id), [open]);
  // Kept here rather than in the page, so that switching tabs does not lose input.
  const [drafts, setDrafts] = useState<Drafts>({});
  const [providersView, setProvidersView] = useState<ProvidersView>({ text: '', sort: 'state' });
  const [opened, setOpened] = useState<string | null>(null);
  const looked = openedBy(route, opened);
  if (looked !== opened) setOpened(looked);
  const now = useNow(data, frozenAt);
  const list = upstreamList(data, now);
  const headline = frozenAt === null ? headlineOf(list, data.app.demo) : UNREACHABLE;
  useTitle(headline);
  return (
    <WindowContext value={{ ...inglenook, data, now, frozenAt, control, settings }}>
      {!control && <ReadOnlyNote notice={notice} />}
      {route.page === 'overview' && (
        <Overview
          {...{ list, headline }}
          isTrying={route.isTrying === true}
          isHeld={details.id !== null}
          onSelect={select}
        />
      )}
      {route.page === 'providers' && (
        <Providers
          filter={route.filter}
          dialog={route.dialog}
          opened={opened}
          view={providersView}
          onView={setProvidersView}
        />
      )}
      {route.page === 'provider' && <Provider key={route.id} id={route.id} />}
      {route.page === 'requests' && (
        <Requests details={details} filter={route.filter} by={route.by} onSelect={select} />
      )}
      {route.page === 'models' && <Models />}
      {route.page === 'history' && <History range={route.range} />}
      {route.page === 'settings' && (
        <>
          <Settings
            opened={route.section}
            field={route.field ?? null}
            drafts={drafts}
            onDrafts={setDrafts}
          />
          {control && <About opened={route.section} />}
        </>
      )}
      {route.page !== 'requests' && (
        <OpenRequest details={details} labels={feedLabels(data)} rows={data.requests} />
      )}
    </WindowContext>
  );
}

/** The machine to return to in the list; null once another page is opened. */
function openedBy(route: Route, opened: string | null): string | null {
  if (route.page === 'provider') return route.id;
  return route.page === 'providers' ? opened : null;
}

function useTitle({ lead, subject, rest }: HeadlineText): void {
  const title = `${lead}${subject}${rest} – Inglenook`;
  useEffect(() => {
    document.title = title;
  }, [title]);
}

const TICK_MS = 250;

/** Page time, updated only while something on screen counts; `frozenAt` stops it. */
function useNow(data: LiveData, frozenAt: number | null): number {
  const [tick, setTick] = useState(() => Date.now());
  const counting = frozenAt === null && countsTime(data);
  useEffect(() => {
    if (!counting) return undefined;
    const timer = setInterval(() => setTick(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [counting]);
  return frozenAt ?? Math.max(tick, data.receivedAt);
}

function countsTime({ requests, status }: LiveData): boolean {
  return (
    requests.some(({ state }) => state === 'running') ||
    status.upstreams.some(({ circuit, skips }) => circuit.open || skips.length > 0)
  );
}
