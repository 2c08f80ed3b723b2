import type { Log } from '../../platform/log.ts';

/**
 * Whether one of the patterns covers the origin of a page: the origin itself, `http://localhost:*` (any port, or
 * none) or `app://*` (all pages of an app's own scheme).
 */
export function isAllowedOrigin(origin: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => covers(pattern, origin));
}

function covers(pattern: string, origin: string): boolean {
  if (pattern === origin) return true;
  const [known, asked] = [pattern.toLowerCase(), origin.toLowerCase()];
  if (known.endsWith('://*')) return asked.startsWith(known.slice(0, -1));
  if (!known.endsWith(':*')) return known === asked;
  return asked.replace(/:\d+$/, '') === known.slice(0, -2);
}

/** Callers can send any number of origins; further ones are not logged. */
const MAX_LOGGED = 100;
const MAX_SHOWN_CHARS = 100;

/** A browser tells its user "CORS error" and no more, so the log names each refused origin once. */
export function logRefusedOrigins(log: Log): (origin: string) => void {
  const logged = new Set<string>();
  return (origin) => {
    const shown = origin.slice(0, MAX_SHOWN_CHARS);
    if (logged.has(shown) || logged.size >= MAX_LOGGED) return;
    logged.add(shown);
    log('warn', 'origin_refused', { origin: shown, setting: 'SWITCHYARD_ALLOWED_ORIGINS' });
  };
}
