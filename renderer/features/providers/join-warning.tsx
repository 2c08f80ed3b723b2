import { hashOf } from '../../route.ts';
import { formatSpan } from '../../text/format.ts';
import * as t from '../../text/t.ts';

interface JoinWarningProps {
  readonly note: JoinNote | null;
  /** True when read from the join command; false when guessed from this page's address. */
  readonly certain: boolean;
}

const words = t.joining.warning;

export function JoinWarning({ note, certain }: JoinWarningProps) {
  if (note === null) return null;
  return (
    <div className="notice">
      {note === 'plain-http' ? (
        <p>{words.plainHttp}</p>
      ) : (
        <p>
          <strong>{certain ? words.hereOnly : words.mustReach}</strong>{' '}
          {certain ? words.hereOnlyText : words.mustReachText}{' '}
          <a href={hashOf({ page: 'settings', section: 'sharing' })}>{words.share}</a>
        </p>
      )}
    </div>
  );
}

type JoinNote = 'here-only' | 'plain-http';

/** The note to show about a gateway's address; `url` is the page's or the one in the join command. */
export function joinNoteOf(url: string): JoinNote | null {
  const address = URL.parse(url);
  if (!address) return null;
  if (isLoopback(address.hostname)) return 'here-only';
  return address.protocol === 'http:' && !isTailnet(address.hostname) ? 'plain-http' : null;
}

/** The gateway's address in a join command; the first if it names several. */
export const gatewayOf = (join: string): string | null =>
  /https?:\/\/[^\s'",]+/.exec(join)?.[0] ?? null;

/** How long the line stays valid; null once it has expired. */
export function validityText(expiresAt: string, serverNow: number): string | null {
  const leftMs = Date.parse(expiresAt) - serverNow;
  return leftMs > 0 ? formatSpan(Math.ceil(leftMs / 1000) * 1000) : null;
}

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');

/** Whether a host is in a tailnet, which encrypts: its names, and 100.64.0.0/10. */
function isTailnet(hostname: string): boolean {
  if (hostname.endsWith('.ts.net')) return true;
  const octets = /^100\.(\d+)\./.exec(hostname);
  const second = Number(octets?.[1] ?? 0);
  return second >= 64 && second <= 127;
}
