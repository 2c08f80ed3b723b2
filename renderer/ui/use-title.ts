import { useEffect } from 'react';
import type { Headline } from '../features/overview/status-summary-text.ts';

/** Puts the sentence into the tab's title, where it is seen without opening the page. */
export function useTitle(headline: Headline | null): void {
  const title = headline
    ? `${headline.lead}${headline.subject}${headline.rest} – Switchyard`
    : 'Switchyard';
  useEffect(() => {
    document.title = title;
  }, [title]);
}
