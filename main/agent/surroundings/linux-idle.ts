import type { KernelFiles } from '../telemetry/files.ts';
import { runFirst } from '../telemetry/places.ts';
import type { ToolEdges } from '../telemetry/run-tool.ts';
import { idleOfSessions, parseSessionIds, parseSessions } from './logind.ts';

/** What reading it takes. */
export interface IdleEdges extends ToolEdges {
  readonly files: KernelFiles;
}

const LOGINCTL = ['loginctl', '/usr/bin/loginctl'];
const LIST = ['list-sessions', '--no-legend', '--no-pager'];
const PROPERTIES = ['Type', 'Class', 'State', 'IdleHint', 'IdleSinceHint'];
const SHOW = ['show-session', '--no-pager', ...PROPERTIES.map((name) => `--property=${name}`)];

/**
 * Milliseconds since somebody last touched this machine: as logind has it, and where there is none as
 * `w` does, by the terminals.
 */
export async function linuxIdleMs(edges: IdleEdges, signal: AbortSignal): Promise<number | null> {
  const listed = await runFirst(LOGINCTL, LIST, edges, signal);
  if (listed.kind === 'missing' || listed.kind === 'failed') return terminalsIdleMs(edges);
  if (listed.kind !== 'output') return null;
  const ids = parseSessionIds(listed.text);
  if (ids.length === 0) return Infinity;
  const shown = await runFirst(LOGINCTL, [...SHOW, ...ids], edges, signal);
  // One that ended meanwhile makes it fail: the next look tells.
  if (shown.kind !== 'output') return null;
  return idleOfSessions(parseSessions(shown.text), edges.clock.now());
}

/** Reading a terminal, which is what typing comes to, sets its time of access. */
async function terminalsIdleMs({ files, clock }: IdleEdges): Promise<number | null> {
  const consoles = (await files.names('/dev')).filter((name) =>
    /^(tty|hvc)[A-Za-z]*\d+$/.test(name),
  );
  // A container has none: whoever sits at the machine around it is not to be seen.
  if (consoles.length === 0) return null;
  // Whoever works on a desktop touches no terminal.
  if ((await files.names('/tmp/.X11-unix')).length > 0) return null;
  const typed = (await files.names('/dev/pts')).filter((name) => /^\d+$/.test(name));
  const paths = [...consoles, ...typed.map((name) => `pts/${name}`)];
  const times = await Promise.all(paths.map((path) => files.accessedMs(`/dev/${path}`)));
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.max(0, clock.now() - Math.max(...known));
}
