import { useState } from 'react';
import type { Access, RememberedBrowser } from '../../api/access.ts';
import { formatMoment } from '../../text/format.ts';
import { ErrorText } from '../../ui/error-text.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { browserName } from './browser-name.ts';

interface BrowsersProps {
  readonly access: Access;
  readonly isLost: boolean;
}

/** Browsers that keep control over restarts; each can be forgotten. */
export function Browsers({ access, isLost }: BrowsersProps) {
  const reading = useReading(access.browsers, null, null);
  const [problem, setProblem] = useState<string | null>(null);
  const after = (said: string | null) => {
    setProblem(said);
    reading.again();
  };
  const remember = async () => after(await access.remember(browserName(navigator.userAgent)));
  const forget = async ({ id }: RememberedBrowser) =>
    after((await access.forget(id))?.message ?? null);
  const [now] = useState(() => Date.now());
  return (
    <>
      <h3>Remembered browsers</h3>
      <p className="quiet">
        They keep control when Switchyard or the browser restarts, until they are forgotten here or
        unused for 90 days.
      </p>
      <ul className="browsers">
        {reading.value?.map((browser) => (
          <li key={browser.id}>
            <span>
              {browser.name}{' '}
              <span className="quiet">
                since {formatMoment(browser.createdAt, now)}, used{' '}
                {formatMoment(browser.seenAt, now)}
              </span>
            </span>
            <button
              type="button"
              className="button"
              disabled={isLost}
              onClick={() => void forget(browser)}
            >
              Forget<span className="unseen"> {browser.name}</span>
            </button>
          </li>
        ))}
      </ul>
      <button type="button" className="button" disabled={isLost} onClick={() => void remember()}>
        Remember this browser
      </button>
      <ErrorText text={problem} />
    </>
  );
}
