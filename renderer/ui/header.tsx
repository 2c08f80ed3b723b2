import { type Route, TABS } from '../route.ts';
import * as t from '../text/t.ts';
import { CopyButton } from './buttons.tsx';

interface HeaderProps {
  readonly route: Route;
  readonly baseUrl: string | null;
}

export function Header({ route, baseUrl }: HeaderProps) {
  const current = route.page === 'provider' ? 'providers' : route.page;
  return (
    <header className="header">
      <a className="brand" href="#/">
        <Logo />
        <span className="brand-name">Inglenook</span>
      </a>
      <nav className="tabs" aria-label="Pages">
        {TABS.map(({ page, hash }) => (
          <a key={page} href={hash} aria-current={page === current ? 'page' : undefined}>
            {t.shell.tabs[page]}
          </a>
        ))}
      </nav>
      {baseUrl !== null && (
        <div className="base-url">
          <span className="quiet base-url-label">Base URL</span>
          <code className="one-line">{baseUrl}</code>
          <CopyButton text={baseUrl} what="base URL" />
        </div>
      )}
    </header>
  );
}

/** A track and its siding. */
export function Logo() {
  return (
    <svg className="logo" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M3 22h26M9 22c7 0 6-12 13-12h7" />
      <circle cx="8" cy="22" r="3.6" />
    </svg>
  );
}
