import type { Clock } from '../../platform/clock.ts';
import { digestOf, isOneOf, isSecretShaped, newSecret } from '../../platform/secrets.ts';

/** Control sessions: a page exchanges the one-time code in its address for a token. */
export interface Sessions {
  newCode(): string;
  /** A session token; null if the code is unknown, used or expired. */
  redeem(code: string): string | null;
  isSession(token: string): boolean;
}

interface Credential {
  readonly digest: Buffer;
  /** In clock ticks. */
  readonly until: number;
}

const CODE_MS = 600_000;
const SESSION_MS = 7 * 86_400_000;
/** Limit for codes and for sessions each; beyond it, the oldest is removed. */
const MAX_CREDENTIALS = 100;

/** Sessions are kept in memory: they end with the process, or after a week. */
export function createSessions(clock: Clock): Sessions {
  const codes: Credential[] = [];
  const sessions: Credential[] = [];

  function issue(credentials: Credential[], lifetimeMs: number): string {
    const secret = newSecret();
    credentials.push({ digest: digestOf(secret), until: clock.ticks() + lifetimeMs });
    if (credentials.length > MAX_CREDENTIALS) credentials.shift();
    return secret;
  }
  const valid = (credentials: readonly Credential[]) =>
    credentials.filter(({ until }) => clock.ticks() < until).map(({ digest }) => digest);

  return {
    newCode: () => issue(codes, CODE_MS),
    redeem(code) {
      if (!isOneOf(code, valid(codes))) return null;
      const used = digestOf(code);
      codes.splice(
        codes.findIndex(({ digest }) => digest.equals(used)),
        1,
      );
      return issue(sessions, SESSION_MS);
    },
    isSession: (token) => isSecretShaped(token) && isOneOf(token, valid(sessions)),
  };
}
