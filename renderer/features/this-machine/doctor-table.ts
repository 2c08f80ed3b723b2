import { DOCTOR_GROUNDS, type AgentView, type DoctorReport } from '#shared/agent.ts';
import { CHECKS } from '#shared/checks.ts';
import type { Check } from '#shared/provider.ts';
import { gatewaySide, hereSide, type Side } from './doctor-sides.ts';
import { t } from '../../text/t.ts';

const { notes, summary } = t.doctor;

export interface DoctorRow {
  readonly name: string;
  readonly here: Side;
  readonly gateway: Side;
  /** The usual cause when the two sides disagree. */
  readonly note: string | null;
}

/** The checks of this machine from both sides. */
export interface DoctorTable {
  readonly says: string;
  readonly rows: readonly DoctorRow[];
}

/** Checks that the gateway judges by heartbeats alone. */
const TOLD: readonly string[] = [CHECKS.engineHealth, CHECKS.gpuCount];
const GROUNDS: readonly string[] = DOCTOR_GROUNDS;
const UNASKED: Side = { outcome: 'unasked', trials: [] };

/** Combines the doctor's report with the gateway's results; `checks` are this gateway's. */
export function doctorTable(
  { checks: entries }: DoctorReport,
  { registry }: Pick<AgentView, 'registry'>,
  checks: readonly Check[],
): DoctorTable {
  const seen = {
    verification: registry.standing?.verification ?? null,
    checks: registry.kind === 'own' ? checks : [],
  };
  const sides = [...Map.groupBy(entries, ({ name }) => name)].map(([name, own]) => ({
    name,
    here: hereSide(own),
    gateway: GROUNDS.includes(name) ? UNASKED : gatewaySide(name, seen),
  }));
  const isCutOff = sides.some((row) => row.name === CHECKS.health && isOnlyHere(row));
  const rows = sides.map((row) => ({
    ...row,
    note: noteOn(row, { isOwn: registry.kind === 'own', isCutOff }),
  }));
  return { says: summaryOf(rows), rows };
}

type Sides = Omit<DoctorRow, 'note'>;

function isOnlyHere({ here, gateway }: Sides): boolean {
  return here.outcome === 'passed' && gateway.outcome === 'failed';
}

interface Setting {
  /** Whether the gateway runs on this machine. */
  readonly isOwn: boolean;
  /** Whether the gateway cannot reach an agent that answers locally. */
  readonly isCutOff: boolean;
}

function noteOn(row: Sides, { isOwn, isCutOff }: Setting): string | null {
  const { name, here, gateway } = row;
  if (here.outcome === 'failed' && gateway.outcome === 'passed') {
    return notes.passedThere;
  }
  if (!isOnlyHere(row)) return null;
  if (TOLD.includes(name)) return notes.heartbeat;
  if (isOwn) return notes.otherTime;
  if (name === CHECKS.health) return notes.firewall;
  return isCutOff ? notes.cutOff : notes.wasBusy;
}

function summaryOf(rows: readonly DoctorRow[]): string {
  // A check that was not run depends on one that failed.
  const failing = (side: 'here' | 'gateway') =>
    rows.filter((row) => row[side].outcome === 'failed').length;
  const [here, there] = [failing('here'), failing('gateway')];
  const isJudged = rows.every(({ gateway }) => gateway.outcome !== 'waiting');
  if (here > 0) return summary.failedHere(here, rows.length);
  if (!isJudged) return summary.unjudged;
  return there === 0 ? summary.passed : summary.notThere;
}
