import type { Clock } from '../../platform/clock.ts';
import { digestOf, isOneOf, isSecretShaped, newSecret } from '../../platform/secrets.ts';

/** Control sessions: a page trades a one-time code from its address for a token of its own. */
export interface Sessions {
  newCode(): string;
  /** The session's token; null when the code is unknown, used or too old. */
  redeem(code: string): string | null;
  isSession(token: string): boolean;
}

interface OneTimeCode {
  readonly digest: Buffer;
  readonly until: number;
}

const CODE_MS = 600_000;
const SESSION_MS = 7 * 86_400_000;
/** The oldest is forgotten beyond this. */
const MAX_CODES = 100;

/** Makes an empty set; sessions live as long as the process, at most a week. */
export function createSessions(clock: Clock): Sessions {
  const codes: OneTimeCode[] = [];
  const sessions: OneTimeCode[] = [];

  function issue(tickets: OneTimeCode[], lifeMs: number): string {
    const secret = newSecret();
    tickets.push({ digest: digestOf(secret), until: clock.ticks() + lifeMs });
    if (tickets.length > MAX_CODES) tickets.shift();
    return secret;
  }
  const live = (tickets: readonly OneTimeCode[]) =>
    tickets.filter(({ until }) => clock.ticks() < until).map(({ digest }) => digest);

  return {
    newCode: () => issue(codes, CODE_MS),
    redeem(code) {
      if (!isOneOf(code, live(codes))) return null;
      const used = digestOf(code);
      codes.splice(
        codes.findIndex(({ digest }) => digest.equals(used)),
        1,
      );
      return issue(sessions, SESSION_MS);
    },
    isSession: (token) => isSecretShaped(token) && isOneOf(token, live(sessions)),
  };
}
