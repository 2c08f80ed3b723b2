import { hashOf, type Route } from '../route.ts';
import { CopyButton } from './copy-button.tsx';
import { Logo } from './logo.tsx';

const TABS = [
  { label: 'Overview', page: 'overview', hash: hashOf({ page: 'overview' }) },
  { label: 'Chat', page: 'chat', hash: hashOf({ page: 'chat' }) },
  { label: 'Providers', page: 'providers', hash: hashOf({ page: 'providers', filter: 'all' }) },
  { label: 'Requests', page: 'requests', hash: hashOf({ page: 'requests', filter: 'all' }) },
  { label: 'History', page: 'history', hash: hashOf({ page: 'history', range: 'day' }) },
  { label: 'Settings', page: 'settings', hash: hashOf({ page: 'settings', section: null }) },
] as const;

interface HeaderProps {
  readonly route: Route;
  readonly baseUrl: string | null;
}

/** Name, tabs, and the address to paste into a client. */
export function Header({ route, baseUrl }: HeaderProps) {
  const current = route.page === 'provider' ? 'providers' : route.page;
  return (
    <header className="header">
      <a className="brand" href="#/">
        <Logo />
        <span className="brand-name">Switchyard</span>
      </a>
      <nav className="tabs" aria-label="Pages">
        {TABS.map(({ label, page, hash }) => (
          <a key={page} href={hash} aria-current={page === current ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
      {baseUrl !== null && (
        <div className="base-url">
          <span className="base-url-label">Base URL</span>
          <code>{baseUrl}</code>
          <CopyButton text={baseUrl} what="base URL" />
        </div>
      )}
    </header>
  );
}
