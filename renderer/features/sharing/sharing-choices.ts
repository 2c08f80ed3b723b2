import type { SettingView } from '#shared/settings.ts';
import type { Sharing } from '#shared/sharing.ts';
import { t } from '../../text/t.ts';

const words = t.sharing;

/** An address at which the gateway may listen. */
export interface SharingChoice {
  readonly host: string;
  readonly label: string;
  readonly text: string;
}

const HERE = '127.0.0.1';
const ALL = '0.0.0.0';

export const isHereOnly = (host: string): boolean => /^(localhost|127\.|\[?::1)/.test(host);

/** The addresses at which the gateway may listen, including the current one. */
export function choicesOf({ host, addresses }: Sharing): readonly SharingChoice[] {
  const { where } = words;
  const choices = [
    { host: HERE, label: where.here, text: where.hereText },
    ...addresses.map(({ address, interfaceName }) => {
      return {
        host: address,
        label: where.on(interfaceName, address.includes(':')),
        text: where.onText,
      };
    }),
    { host: ALL, label: where.all, text: where.allText },
  ];
  const isListed = choices.some((choice) => choice.host === chosenAtFirst(host));
  return isListed ? choices : [...choices, { host, label: where.kept, text: where.keptText }];
}

export const chosenAtFirst = (host: string): string => (host === 'localhost' ? HERE : host);

/** When a choice takes effect; a change between one address and all needs a restart. */
export function applyingOf(
  before: string,
  saved: SettingView | undefined,
  host: string,
): 'none' | 'share' | 'unshare' | 'later' {
  if ([before, String(saved?.value), host].every(isHereOnly)) return 'none';
  const isBetween = before !== host && [before, host].some((each) => each === ALL || each === '::');
  if (isBetween) return 'later';
  return isHereOnly(host) ? 'unshare' : 'share';
}

/** The command by which another machine tests that it reaches the gateway. */
export function tryLine(url: string, key: string | null): string {
  return words.done.line(url, key ?? words.done.anyKey);
}

export function firewallNote(
  { platform, url }: Pick<Sharing, 'platform' | 'url'>,
  host: string,
): ReturnType<typeof words.firewall.other> {
  const { firewall } = words;
  const port = new URL(url).port || '80';
  if (isHereOnly(host)) return firewall.none;
  if (platform === 'linux' || platform === 'darwin' || platform === 'win32') {
    return firewall[platform](port);
  }
  return firewall.other(port);
}

/** Parses host names separated by commas or spaces. */
export const namesIn = (text: string): readonly string[] =>
  text.split(/[\s,]+/).filter((name) => name !== '');
