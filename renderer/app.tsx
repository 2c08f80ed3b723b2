import { useState, useSyncExternalStore } from 'react';
import type { Inglenook } from './api/inglenook.ts';
import { Live } from './live.tsx';
import { hashOf, type Route, routeOf } from './route.ts';
import { formatClock } from './text/format.ts';
import * as t from './text/t.ts';
import { Button, CodeLine } from './ui/buttons.tsx';
import { Header, Logo } from './ui/header.tsx';
import { useScroll } from './ui/use-scroll.ts';
import { ErrorText, Form, TextField } from './ui/fields.tsx';

export function App({ inglenook }: { readonly inglenook: Inglenook }) {
  const { subscribe, getState } = inglenook.store;
  const { connection, control, notice, data, settings } = useSyncExternalStore(subscribe, getState);
  const route = useRoute();
  useScroll(route.page === 'provider' ? hashOf(route) : route.page);

  if (connection.kind === 'locked') return <Locked notice={notice} onUnlock={inglenook.unlock} />;
  const lostSince = connection.kind === 'lost' ? connection.since : null;
  return (
    <>
      <a className="skip-link" href="#content" onClick={skipToContent}>
        Skip to content
      </a>
      <Header route={route} baseUrl={data?.app.baseUrl ?? null} />
      <main
        className="page"
        id="content"
        tabIndex={-1}
        data-stale={lostSince !== null || undefined}
      >
        {data ? (
          <Live {...{ inglenook, data, route, control, notice, settings }} frozenAt={lostSince} />
        ) : (
          <p className="connecting">{lostSince === null ? 'Connecting…' : 'No connection yet.'}</p>
        )}
      </main>
      {lostSince !== null && (
        <ConnectionBanner since={lostSince} hasData={data !== null} onRetry={inglenook.retryNow} />
      )}
    </>
  );
}

/** The hash is the route, so the link must not change it. */
function skipToContent(event: { preventDefault: () => void }): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

interface ConnectionBannerProps {
  readonly since: number;
  readonly hasData: boolean;
  readonly onRetry: () => void;
}

/** Shown over the page while the gateway cannot be reached, so that nothing moves. */
function ConnectionBanner({ since, hasData, onRetry }: ConnectionBannerProps) {
  return (
    <div className="banner" role="alert">
      <span className="banner-mark" aria-hidden="true" />
      <p>
        <strong>{`No connection to Inglenook since ${formatClock(since)}.`}</strong>{' '}
        {hasData && 'Showing the last known state. '}
        Reconnecting… If you stopped Inglenook, start it again.
      </p>
      <Button onClick={onRetry}>Try now</Button>
    </div>
  );
}

function useRoute(): Route {
  return routeOf(useSyncExternalStore(onAddressChange, () => location.hash));
}

function onAddressChange(listener: () => void): () => void {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
}

interface LockedProps {
  readonly notice: string | null;
  /** Resolves with an error message, or null. */
  readonly onUnlock: (key: string) => Promise<string | null>;
}

export function Locked({ notice, onUnlock }: LockedProps) {
  const [problem, setProblem] = useState<string | null>(null);
  const [key, setKey] = useState('');
  return (
    <main className="locked">
      <Logo />
      <h1>Sign in</h1>
      <p>This gateway is protected by an API key. Enter it to view this page:</p>
      <Form
        className="unlock"
        onSend={async () => key.trim() !== '' && setProblem(await onUnlock(key.trim()))}
      >
        <TextField label="API key" type="password" required value={key} onChange={setKey} />
        <Button type="submit" data-primary>
          Open
        </Button>
      </Form>
      <ErrorText text={problem} />
      <p>
        To change settings too, run this on the gateway’s machine. It opens the dashboard, signed
        in:
      </p>
      <CodeLine text="inglenook open" what={t.shell.locked.command} />
      {notice !== null && (
        <p className="notice" role="alert">
          {notice}
        </p>
      )}
      <p className="quiet">Checks again every few seconds.</p>
    </main>
  );
}
