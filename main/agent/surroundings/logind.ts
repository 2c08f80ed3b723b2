/** A session as `loginctl show-session` has it (org.freedesktop.login1). */
export interface Session {
  readonly isGraphical: boolean;
  /** A person's, and not about to end. */
  readonly isUsers: boolean;
  readonly isIdle: boolean;
  /** Milliseconds since the epoch; null where the session has never said. */
  readonly idleSinceMs: number | null;
}

/** More are nobody's machine, and the command line has an end. */
const MAX_SESSIONS = 64;

/** The first words of `loginctl list-sessions --no-legend`. */
export function parseSessionIds(text: string): readonly string[] {
  const words = text.split('\n').map((line) => line.trim().split(/\s+/)[0] ?? '');
  return words.filter((word) => /^\w+$/.test(word)).slice(0, MAX_SESSIONS);
}

/** Reads `loginctl show-session`: a line for each property, an empty one between sessions. */
export function parseSessions(text: string): readonly Session[] {
  return text
    .split(/\n\s*\n/)
    .filter((block) => block.includes('='))
    .map((block) => {
      const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(block)?.[1] ?? '';
      const sinceUs = Number(value('IdleSinceHint'));
      return {
        isGraphical: /^(x11|wayland|mir)$/.test(value('Type')),
        isUsers: /^user\b/.test(value('Class')) && value('State') !== 'closing',
        isIdle: value('IdleHint') === 'yes',
        idleSinceMs: sinceUs > 0 ? sinceUs / 1000 : null,
      };
    });
}

/** Milliseconds since a person last touched one of the sessions; null where a desktop keeps it to itself. */
export function idleOfSessions(sessions: readonly Session[], nowMs: number): number | null {
  const idle = sessions.filter(({ isUsers }) => isUsers).map((session) => idleOf(session, nowMs));
  const known = idle.filter((ms) => ms !== null);
  return known.length < idle.length ? null : Math.min(Infinity, ...known);
}

/**
 * A text session has the time at which its terminal was last read, and none where nobody can type,
 * as when files are copied. A desktop says itself that nobody is there; one that has never said so
 * perhaps never will, so its silence means nothing.
 */
function idleOf({ isGraphical, isIdle, idleSinceMs }: Session, nowMs: number): number | null {
  if (idleSinceMs === null) return isGraphical ? null : Infinity;
  return isGraphical && !isIdle ? 0 : Math.max(0, nowMs - idleSinceMs);
}
