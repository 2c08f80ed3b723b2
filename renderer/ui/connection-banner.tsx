import { formatClock } from '../text/format.ts';
import { t } from '../text/t.ts';

interface ConnectionBannerProps {
  readonly since: number;
  readonly hasData: boolean;
  readonly onRetry: () => void;
}

/** Shown while the gateway cannot be reached; lies over the page so that nothing moves. */
export function ConnectionBanner({ since, hasData, onRetry }: ConnectionBannerProps) {
  return (
    <div className="banner" role="alert">
      <span className="banner-mark" aria-hidden="true" />
      <p>
        <strong>{t.shell.lost.since(formatClock(since))}</strong> {hasData && t.shell.lost.stale}
        {t.shell.lost.retrying}
      </p>
      <button type="button" className="button" onClick={onRetry}>
        {t.shell.lost.retry}
      </button>
    </div>
  );
}
