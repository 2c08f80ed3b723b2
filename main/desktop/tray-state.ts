import type { AgentView } from '#shared/agent.ts';
import { type Condition, verdictText } from '#shared/condition.ts';
import type { UpstreamId } from '#shared/ids.ts';
import type { LiveDelta, LiveEvent, LiveSnapshot } from '#shared/live.ts';
import type { UpstreamReport } from '#shared/status.ts';

/** The owner's mode of this machine; null while the agent is switched off. */
export type MachineMode = AgentView['owner']['mode'] | null;

/** The part of the live state that the tray shows. */
export type TrayFacts = Pick<
  LiveSnapshot,
  'status' | 'inFlight' | 'judgement' | 'app' | 'providers'
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

/** Applies a delta, which omits what did not change. */
export function foldFacts(
  facts: Omit<TrayFacts, 'machine'>,
  event: LiveEvent,
  machine: MachineMode,
): TrayFacts {
  const changed: LiveDelta | LiveSnapshot = event;
  return {
    status: changed.status ?? facts.status,
    inFlight: changed.inFlight ?? facts.inFlight,
    judgement: changed.judgement ?? facts.judgement,
    app: changed.app ?? facts.app,
    providers: changed.providers ?? facts.providers,
    machine,
  };
}

export const runningRequests = ({ inFlight }: Pick<TrayFacts, 'inFlight'>): number =>
  Object.values(inFlight).reduce((sum, count) => sum + count, 0);

/** How the owner's mode keeps this machine from serving; null if it serves. */
export const haltedBy = ({ machine }: Pick<TrayFacts, 'machine'>): string | null =>
  machine === null || machine === 'on' ? null : HALTED[machine];

/** Shape and text come from the same branch, so that they cannot contradict each other. */
export function describeServing(facts: TrayFacts): Serving {
  const running = runningRequests(facts);
  const inFlightText = running > 0 ? ` · ${running} in flight` : '';
  const [shape, text] = wordsFor(facts);
  const line = shorten(text, LINE_MAX - inFlightText.length) + inFlightText;
  return { shape, line, inFlight: running };
}

/** The gateway's verdict in words. */
function wordsFor(facts: TrayFacts): readonly [TrayShape, string] {
  const { verdict } = facts.judgement;
  const text = verdictText(facts.judgement, (id) => nameIn(facts, id));
  switch (verdict.kind) {
    case 'bare':
    case 'verifying':
      return ['off', text];
    case 'stuck': {
      const halted = haltedBy(facts);
      return halted === null ? ['broken', text] : ['paused', `Not serving: ${halted}`];
    }
    case 'serving':
    case 'untested':
      return howItServes(verdict.by, text, facts);
  }
}

function nameIn({ status }: TrayFacts, wanted: UpstreamId): string {
  const report = status.upstreams.find(({ id }) => id === wanted);
  return report === undefined ? wanted : displayName(report);
}

/** The summary while something can serve. */
function howItServes(by: UpstreamId, text: string, facts: TrayFacts): readonly [TrayShape, string] {
  const { conditions } = facts.judgement;
  const refused = facts.status.upstreams.find(({ id }) => isRefusal(conditions[id]));
  if (refused !== undefined) return ['broken', `${text}; ${displayName(refused)} rejects your key`];
  const halted = haltedBy(facts);
  const isPaid = by !== 'local';
  if (halted === null) return [isPaid ? 'fallback' : 'closed', text];
  return [isPaid ? 'fallback' : 'paused', `${text}; ${halted}`];
}

function isRefusal(condition: Condition): boolean {
  const isOut = condition.kind === 'skipped' || condition.kind === 'down';
  return isOut && condition.reason === 'credentials';
}

const HALTED = {
  paused: 'this machine is paused',
  draining: 'this machine is draining',
  leaving: 'this machine is leaving its gateway',
} as const;

/** Whatever its health. */
export function isConfigured(id: UpstreamId, { judgement }: TrayFacts): boolean {
  return judgement.conditions[id].kind !== 'missing';
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
