import type { AgentView } from '#shared/agent.ts';
import { type Condition, troubleIn, verdictText } from '#shared/condition.ts';
import type { UpstreamId } from '#shared/ids.ts';
import type { LiveSnapshot } from '#shared/live.ts';
import { clause, inSentence } from '#shared/services.ts';
import type { UpstreamReport } from '#shared/status.ts';

/** The owner's mode of this machine; null while the agent is switched off. */
export type MachineMode = AgentView['owner']['mode'] | null;

/** The live state, and what the owner has chosen for this machine. */
export type TrayFacts = Omit<LiveSnapshot, 'kind' | 'requests'> & { readonly machine: MachineMode };

/**
 * The icon. `closed`: the owner's own GPUs serve; `fallback`: another upstream serves, which may cost money; `broken`:
 * the owner has to act; `paused`: held back by the owner; `off`: stopping, or nothing is configured.
 */
export const TRAY_SHAPES = ['closed', 'fallback', 'broken', 'paused', 'off'] as const;

export type TrayShape = (typeof TRAY_SHAPES)[number];

/** Windows truncates tooltips at 127 characters, even within a word; the product and a count stand around it. */
const LINE_MAX = 90;

/** How the owner's mode keeps this machine from serving; null if it serves. */
export const haltedBy = ({ machine }: Pick<TrayFacts, 'machine'>): string | null =>
  machine === null || machine === 'on' ? null : HALTED[machine];

/** Shape and text come from the same branch, so that they cannot contradict each other. */
export function describeServing(facts: TrayFacts) {
  const [shape, text] = wordsFor(facts);
  const inFlight = Object.values(facts.inFlight).reduce((sum, count) => sum + count, 0);
  return { shape, line: shorten(text, LINE_MAX), inFlight };
}

/** The gateway's verdict in words. */
function wordsFor(facts: TrayFacts): readonly [TrayShape, string] {
  const { verdict } = facts.judgement;
  const text = verdictText(facts.judgement, (id) => nameIn(facts, id));
  switch (verdict.kind) {
    case 'bare':
    case 'arriving':
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
  if (refused !== undefined) {
    const refusal = clause(displayName(refused), troubleIn(conditions[refused.id]) ?? '');
    return ['broken', `${text}; ${inSentence(refusal)}`];
  }
  const halted = haltedBy(facts);
  const isPaid = by !== 'local';
  if (halted === null) return [isPaid ? 'fallback' : 'closed', text];
  return [isPaid ? 'fallback' : 'paused', `${text}; ${halted}`];
}

const isRefusal = (condition: Condition): boolean =>
  'reason' in condition && condition.reason === 'credentials';

const HALTED = {
  paused: 'this machine is held back',
  draining: 'this machine finishes its requests',
  leaving: 'this machine is leaving its gateway',
} as const;

export function displayName({ id, label }: UpstreamReport): string {
  return shorten(label.trim() === '' ? id : label.trim(), 40);
}

function shorten(text: string, max: number): string {
  if (text.length <= max) return text;
  // Do not cut a surrogate pair in half.
  const cut = text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '');
  return `${cut.trimEnd()}…`;
}
