import { useEffect } from 'react';
import type { Headline } from '../features/overview/status-summary-text.ts';
import { t } from '../text/t.ts';

/** Puts the sentence into the tab's title, where it is seen without opening the page. */
export function useTitle(headline: Headline | null): void {
  const title = headline
    ? t.shell.pageTitle(`${headline.lead}${headline.subject}${headline.rest}`)
    : t.shell.product;
  useEffect(() => {
    document.title = title;
  }, [title]);
}
