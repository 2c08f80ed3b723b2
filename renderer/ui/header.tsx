import type { Route } from '../route.ts';
import { CopyButton } from './copy-button.tsx';
import { Logo } from './logo.tsx';
import { TABS } from './tabs.ts';
import { t } from '../text/t.ts';

interface HeaderProps {
  readonly route: Route;
  readonly baseUrl: string | null;
}

/** Name, tabs, and the base URL for apps. */
export function Header({ route, baseUrl }: HeaderProps) {
  const current = route.page === 'provider' ? 'providers' : route.page;
  return (
    <header className="header">
      <a className="brand" href="#/">
        <Logo />
        <span className="brand-name">{t.shell.product}</span>
      </a>
      <nav className="tabs" aria-label={t.shell.tabs.label}>
        {TABS.map(({ page, hash }) => (
          <a key={page} href={hash} aria-current={page === current ? 'page' : undefined}>
            {t.shell.tabs[page]}
          </a>
        ))}
      </nav>
      {baseUrl !== null && (
        <div className="base-url">
          <span className="base-url-label">{t.shell.baseUrl}</span>
          <code>{baseUrl}</code>
          <CopyButton text={baseUrl} what={t.shell.theBaseUrl} />
        </div>
      )}
    </header>
  );
}
