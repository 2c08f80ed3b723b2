import type { AgentView } from '#shared/agent.ts';
import type { LiveDelta, LiveEvent, LiveSnapshot } from '#shared/live.ts';
import type { StatusReport, UpstreamReport } from '#shared/status.ts';

/** The owner's mode of this machine; null while the agent is switched off. */
export type MachineMode = AgentView['owner']['mode'] | null;

/** The part of the live state that the tray shows. */
export type TrayFacts = Pick<
  LiveSnapshot,
  'status' | 'inFlight' | 'sightings' | 'next' | 'app' | 'providers'
> & {
  readonly machine: MachineMode;
};

/**
 * The icon. `closed`: the owner's own GPUs serve; `fallback`: another upstream serves, which may cost money; `broken`:
 * the owner has to act; `paused`: by the owner; `off`: stopping, or nothing is configured.
 */
export const TRAY_SHAPES = ['closed', 'fallback', 'broken', 'paused', 'off'] as const;

export type TrayShape = (typeof TRAY_SHAPES)[number];

export interface Serving {
  readonly shape: TrayShape;
  readonly line: string;
  readonly inFlight: number;
}

/** Windows truncates tooltips at 127 characters, even within a word. */
const LINE_MAX = 110;

const EXCLUSION_TEXTS: Readonly<Record<string, string>> = {
  rate_limited: 'is rate limited',
  quota: 'is out of quota',
  budget: 'has spent its budget',
  credentials: 'refuses our key',
  busy: 'is busy',
  model_not_found: 'does not know the model',
};

/** Applies a delta, which omits what did not change. */
export function foldFacts(
  facts: Omit<TrayFacts, 'machine'>,
  event: LiveEvent,
  machine: MachineMode,
): TrayFacts {
  const changed: LiveDelta | LiveSnapshot = event;
  const providers = changed.providers ?? facts.providers;
  return {
    status: changed.status ?? facts.status,
    inFlight: changed.inFlight ?? facts.inFlight,
    sightings: changed.sightings ?? facts.sightings,
    next: changed.next === undefined ? facts.next : changed.next,
    app: changed.app ?? facts.app,
    ...(providers === undefined ? {} : { providers }),
    machine,
  };
}

/** Requests in progress. */
export const runningRequests = ({ inFlight }: Pick<TrayFacts, 'inFlight'>): number =>
  Object.values(inFlight).reduce((sum, count) => sum + count, 0);

/** How the owner's mode keeps this machine from serving; null if it serves. */
export const haltedBy = ({ machine }: Pick<TrayFacts, 'machine'>): string | null =>
  machine === null || machine === 'on' ? null : HALTED[machine];

/** Shape and text come from the same branch, so that they cannot contradict each other. */
export function describeServing(facts: TrayFacts): Serving {
  const { status } = facts;
  const running = runningRequests(facts);
  const inFlightText = running > 0 ? ` · ${running} in flight` : '';
  const serving = (shape: TrayShape, text: string): Serving => ({
    shape,
    line: shorten(text, LINE_MAX - inFlightText.length) + inFlightText,
    inFlight: running,
  });
  const configured = status.upstreams.filter((upstream) => isConfigured(upstream, status));
  if (configured.length === 0) return serving('off', 'Nothing is configured');
  const permitted = configured.filter(({ id }) => id === 'local' || !status.forceZero);
  const halted = haltedBy(facts);
  const isServing = status.ok && permitted.length > 0;
  if (!isServing && halted !== null) return serving('paused', `Not serving: ${halted}`);
  if (permitted.length === 0)
    return serving('broken', 'Not serving: “Local only” is on, and Local is not set up');
  if (!status.ok) return serving('broken', `Not serving: ${whyNot(permitted, status)}`);
  return serving(...howItServes(permitted, facts));
}

/** The summary while something can serve. */
function howItServes(
  permitted: readonly UpstreamReport[],
  facts: TrayFacts,
): readonly [TrayShape, string] {
  const server = permitted.find(({ id }) => id === facts.next);
  if (server !== undefined && isFailing(server, facts)) {
    const isDown = facts.sightings[server.id].kind === 'failed' && !server.circuit.consecutiveFails;
    const how = isDown ? 'is down' : 'is failing';
    return ['broken', `${displayName(server)} ${how}, and there is no fallback`];
  }
  const text = server === undefined ? 'Serving' : servingText(server, facts);
  const refused = permitted.find(({ skips }) =>
    skips.some(({ reason }) => reason === 'credentials'),
  );
  if (refused !== undefined) return ['broken', `${text}; ${displayName(refused)} refuses our key`];
  const isPaid = server !== undefined && server.id !== 'local';
  const halted = haltedBy(facts);
  if (halted === null) return [isPaid ? 'fallback' : 'closed', text];
  return [isPaid ? 'fallback' : 'paused', `${text}; ${halted}`];
}

const HALTED = {
  paused: 'this machine is paused',
  draining: 'this machine is draining',
  leaving: 'this machine is leaving its gateway',
} as const;

/** Whatever its health. */
export function isConfigured({ id, baseUrl }: UpstreamReport, { local }: StatusReport): boolean {
  if (baseUrl !== null) return true;
  return id === 'local' && local.verified_count + local.pending_count + local.failed_count > 0;
}

/** Whether its last request or check failed. */
function isFailing({ id, circuit }: UpstreamReport, { sightings }: TrayFacts): boolean {
  const sighting = sightings[id];
  return (
    sighting.kind === 'failed' || (circuit.consecutiveFails > 0 && sighting.kind !== 'answered')
  );
}

function servingText(server: UpstreamReport, { status, sightings }: TrayFacts): string {
  const name = displayName(server);
  if (server.id === 'ondemand' && status.ondemand_warmup !== 'ready')
    return status.ondemand_warmup === 'warming'
      ? `${name} is starting up`
      : `${name} is next (cold start)`;
  if (sightings[server.id].kind === 'untested') return `${name} is next, but untested`;
  return `Serving from ${name}`;
}

/** The last error of a failing upstream; null if none is failing. */
export function recentProblem(facts: TrayFacts): string | null {
  const failing = facts.status.upstreams
    .filter((upstream) => upstream.circuit.open || isFailing(upstream, facts))
    .filter((upstream) => isConfigured(upstream, facts.status))
    .map((upstream) => ({ upstream, why: lastErrorOf(upstream, facts) }))
    .toSorted((a, b) => failedAt(b.upstream) - failedAt(a.upstream));
  const [last] = failing;
  return last === undefined
    ? null
    : shorten(`${displayName(last.upstream)}: ${last.why}`, LINE_MAX);
}

function lastErrorOf({ id, circuit }: UpstreamReport, { sightings }: TrayFacts): string {
  const sighting = sightings[id];
  if (sighting.kind === 'failed' && sighting.by === 'check') return `${sighting.reason} (a check)`;
  return circuit.lastError ?? 'keeps failing';
}

const failedAt = ({ circuit }: UpstreamReport): number =>
  circuit.lastFailAt === null ? 0 : Date.parse(circuit.lastFailAt);

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
  if (text.length <= max) return text;
  // Do not cut a surrogate pair in half.
  const cut = text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '');
  return `${cut.trimEnd()}…`;
}
