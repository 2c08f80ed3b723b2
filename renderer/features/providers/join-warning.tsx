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
      {note === 'unencrypted' ? (
        <p>
          <strong>The gateway sends prompts to the machine over plain HTTP,</strong> even if it is
          behind HTTPS itself. Anyone who can listen in on the network can read them, and the
          answers. Continue only on a network that you trust, or over a tailnet, which encrypts
          them.
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

type JoinNote = 'here-only' | 'unencrypted';

/** The note to show about a gateway's address; `url` is the page's or the one in the join command. */
export function joinNoteOf(url: string): JoinNote | null {
  const address = URL.parse(url);
  if (!address) return null;
  if (isLoopback(address.hostname)) return 'here-only';
  return isTailnet(address.hostname) ? null : 'unencrypted';
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

/** Whether a host is in a tailnet, which encrypts: its names, 100.64.0.0/10 and fd7a:115c:a1e0::/48. */
function isTailnet(hostname: string): boolean {
  if (hostname.endsWith('.ts.net') || hostname.startsWith('[fd7a:115c:a1e0:')) return true;
  const octets = /^100\.(\d+)\./.exec(hostname);
  const second = Number(octets?.[1] ?? 0);
  return second >= 64 && second <= 127;
}
