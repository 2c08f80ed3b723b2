import type { AgentView } from '#shared/agent.ts';
import type { LiveDelta, LiveEvent, LiveSnapshot } from '#shared/live.ts';
import type { StatusReport, UpstreamReport } from '#shared/status.ts';

/** State of this machine by its owner's wish; null where the agent is switched off. */
export type MachineMode = AgentView['owner']['mode'] | null;

/** The part of the live state that the tray shows. */
export type TrayFacts = Pick<LiveSnapshot, 'status' | 'inFlight' | 'app'> & {
  readonly machine: MachineMode;
};

/**
 * The icon. `closed`: the owner's own GPUs serve; `fallback`: another upstream serves, which may cost money;
 * `broken`: the owner is needed; `paused`: by the owner's wish; `off`: stopping, or nothing is configured.
 */
export const TRAY_SHAPES = ['closed', 'fallback', 'broken', 'paused', 'off'] as const;

export type TrayShape = (typeof TRAY_SHAPES)[number];

export interface Serving {
  readonly shape: TrayShape;
  readonly line: string;
  readonly inFlight: number;
}

/** Windows cuts tooltips at 127 characters, in the middle of a word. */
const LINE_MAX = 110;

const EXCLUSION_TEXTS: Readonly<Record<string, string>> = {
  rate_limited: 'is rate limited',
  quota: 'is out of quota',
  credentials: 'refuses our key',
  busy: 'is busy',
  model_not_found: 'does not know the model',
};

/** A delta omits what did not change. */
export function foldFacts(
  facts: Omit<TrayFacts, 'machine'>,
  event: LiveEvent,
  machine: MachineMode,
): TrayFacts {
  const changed: LiveDelta | LiveSnapshot = event;
  return {
    status: changed.status ?? facts.status,
    inFlight: changed.inFlight ?? facts.inFlight,
    app: changed.app ?? facts.app,
    machine,
  };
}

/** Shape and text come from the same branch, so that they cannot contradict each other. */
export function describeServing({ status, inFlight, machine }: TrayFacts): Serving {
  const running = Object.values(inFlight).reduce((sum, count) => sum + count, 0);
  const inFlightText = running > 0 ? ` · ${running} in flight` : '';
  const serving = (shape: TrayShape, text: string): Serving => ({
    shape,
    line: shorten(text, LINE_MAX - inFlightText.length) + inFlightText,
    inFlight: running,
  });
  const configured = status.upstreams.filter((upstream) => isConfigured(upstream, status));
  if (configured.length === 0) return serving('off', 'Nothing is configured');
  const permitted = configured.filter(({ id }) => id === 'local' || !status.forceZero);
  const halted = machine === null || machine === 'on' ? null : HALTED[machine];
  const isServing = status.ok && permitted.length > 0;
  if (!isServing && halted !== null) return serving('paused', `Not serving: ${halted}`);
  if (permitted.length === 0)
    return serving(
      'broken',
      'Not serving: only Local may serve in zero-spend mode, and there is none',
    );
  if (!status.ok) return serving('broken', `Not serving: ${whyNot(permitted, status)}`);
  const server = permitted.find((upstream) => canServe(upstream, status));
  const text = server === undefined ? 'Serving' : `Serving from ${displayName(server)}`;
  const refused = permitted.find(({ skips }) =>
    skips.some(({ reason }) => reason === 'credentials'),
  );
  if (refused !== undefined)
    return serving('broken', `${text}; ${displayName(refused)} refuses our key`);
  if (server !== undefined && server.id !== 'local')
    return serving('fallback', halted === null ? text : `${text}; ${halted}`);
  return halted === null ? serving('closed', text) : serving('paused', `${text}; ${halted}`);
}

const HALTED = {
  paused: 'this machine is paused',
  draining: 'this machine is draining',
  leaving: 'this machine is leaving its gateway',
} as const;

/** Configured, whatever its health. */
export function isConfigured({ id, baseUrl }: UpstreamReport, { local }: StatusReport): boolean {
  if (baseUrl !== null) return true;
  return id === 'local' && local.verified_count + local.pending_count + local.failed_count > 0;
}

function canServe(upstream: UpstreamReport, { local }: StatusReport): boolean {
  return upstream.healthy && (upstream.id !== 'local' || local.health === 'ok');
}

function whyNot(permitted: readonly UpstreamReport[], status: StatusReport): string {
  const [first, ...rest] = permitted.filter((upstream) => !canServe(upstream, status));
  if (first === undefined) return 'no upstream can answer';
  const others = rest.length === 0 ? '' : `, and ${rest.length} more cannot serve`;
  return `${displayName(first)} ${whyOut(first, status)}${others}`;
}

function whyOut({ id, circuit, skips }: UpstreamReport, { local }: StatusReport): string {
  const skip = skips[0];
  if (skip !== undefined) return EXCLUSION_TEXTS[skip.reason] ?? `is skipped (${skip.reason})`;
  if (circuit.open) return 'keeps failing';
  if (id === 'local' && local.health !== 'ok') return 'has no machine that can serve';
  return 'cannot serve';
}

export function displayName({ id, label }: UpstreamReport): string {
  return shorten(label.trim() === '' ? id : label.trim(), 40);
}

function shorten(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).trimEnd()}…`;
}
