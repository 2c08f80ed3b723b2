import { useState } from 'react';
import type { RememberedBrowser } from '../../api/access.ts';
import { formatMoment } from '../../text/format.ts';
import { t } from '../../text/t.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorText } from '../../ui/error-text.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';

const words = t.about.browsers;

/** The browsers that keep control across restarts; each can be forgotten. */
export function Browsers() {
  const { access, frozenAt } = useWindow();
  const isLost = frozenAt !== null;
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
      <h3>{words.title}</h3>
      <p className="quiet">{words.text}</p>
      <ul className="browsers">
        {reading.value?.map((browser) => (
          <li key={browser.id}>
            <span>
              {browser.name}{' '}
              <span className="quiet">
                {words.used(
                  formatMoment(browser.createdAt, now),
                  formatMoment(browser.seenAt, now),
                )}
              </span>
            </span>
            <Button disabled={isLost} onClick={() => void forget(browser)}>
              {words.forget(browser.name)}
            </Button>
          </li>
        ))}
      </ul>
      <Button disabled={isLost} onClick={() => void remember()}>
        {words.remember}
      </Button>
      <ErrorText text={problem} />
    </>
  );
}

/** `Firefox on Linux`: enough for an owner to tell browsers apart. */
export function browserName(userAgent: string): string {
  const find = (names: readonly (readonly [pattern: RegExp, name: string])[], other: string) =>
    names.find(([pattern]) => pattern.test(userAgent))?.[1] ?? other;
  return words.name(find(BROWSERS, words.otherBrowser), find(SYSTEMS, words.otherSystem));
}

/** Most user agents also name other browsers, so the order matters. */
const BROWSERS = [
  [/Electron\//, words.desktop],
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrome\//, 'Chrome'],
  [/Safari\//, 'Safari'],
] as const;

const SYSTEMS = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS/, 'macOS'],
  [/Linux/, 'Linux'],
] as const;
