import { formatClock } from '../text/format.ts';

interface ConnectionBannerProps {
  readonly since: number;
  readonly hasData: boolean;
  readonly onRetry: () => void;
}

/** Says that the line to the gateway is broken; lies over the page so that nothing moves. */
export function ConnectionBanner({ since, hasData, onRetry }: ConnectionBannerProps) {
  return (
    <div className="banner" role="alert">
      <span className="banner-mark" aria-hidden="true" />
      <p>
        <strong>No connection to Switchyard since {formatClock(since)}.</strong>{' '}
        {hasData ? 'What you see is from before. ' : ''}Trying again by itself; if it was stopped,
        start it again.
      </p>
      <button type="button" className="button" onClick={onRetry}>
        Try now
      </button>
    </div>
  );
}
