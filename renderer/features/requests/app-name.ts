import type { RequestRow } from '#shared/live.ts';
import { t } from '../../text/t.ts';

/** Products of a user agent that name a platform or an engine, not who calls. */
const BROWSER = /^Mozilla\//;

/**
 * The app that sent a request, as its user agent names it: `OpenAI/Python 1.40.0` is "OpenAI Python", `curl/8.5.0`
 * "curl". Null if it did not say.
 */
export function appName({ caller }: Pick<RequestRow, 'caller'>): string | null {
  const agent = caller?.userAgent?.trim() ?? '';
  if (agent === '') return null;
  if (BROWSER.test(agent)) return t.requests.browser;
  // A version begins with a digit or a `v`; what stands before the first of them is the name.
  const [name = agent] = agent.split(/[/ ]+v?\d/, 1);
  return (
    name
      .replaceAll('/', ' ')
      .replace(/\s*\(.*$/, '')
      .trim() || agent
  );
}
