import { hashOf } from '../../route.ts';
import { formatSpan } from '../../text/format.ts';

interface JoinWarningProps {
  readonly note: JoinNote | null;
  /** True when read from the join command; false when guessed from this page's address. */
  readonly certain: boolean;
}

export function JoinWarning({ note, certain }: JoinWarningProps) {
  if (note === null) return null;
  return (
    <div className="notice">
      {note === 'plain-http' ? (
        <p>
          <strong>This gateway uses plain HTTP.</strong> Anyone who can listen in on the network can
          read prompts, answers and the join command itself. Continue only on a network that you
          trust, or over a tailnet, which encrypts it.
        </p>
      ) : (
        <p>
          <strong>
            {certain
              ? 'Only this machine can use this command.'
              : 'The other machine must be able to reach this gateway.'}
          </strong>{' '}
          {certain
            ? 'It names an address that other machines cannot reach.'
            : 'You opened this page at an address that works on this machine only. If the gateway listens nowhere else:'}{' '}
          <a href={hashOf({ page: 'settings', section: 'sharing' })}>
            Share this gateway on a network
          </a>
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
