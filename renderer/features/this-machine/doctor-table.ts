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

/** Both views of this machine. */
export interface DoctorTable {
  readonly says: string;
  readonly rows: readonly DoctorRow[];
}

/** Known to the gateway by heartbeats alone. */
const TOLD: readonly string[] = [CHECKS.engineHealth, CHECKS.gpuCount];
const GROUNDS: readonly string[] = DOCTOR_GROUNDS;
const UNASKED: Side = { outcome: 'unasked', trials: [] };

/** Lays the doctor's report beside what the gateway has found; `checks` are this gateway's own. */
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
  /** The gateway is the one of this machine. */
  readonly isOwn: boolean;
  /** The gateway does not reach what answers here. */
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
  // What was not run rests on something that has failed.
  const failing = (side: 'here' | 'gateway') =>
    rows.filter((row) => row[side].outcome === 'failed').length;
  const [here, there] = [failing('here'), failing('gateway')];
  const isJudged = rows.every(({ gateway }) => gateway.outcome !== 'waiting');
  if (here > 0) return summary.failedHere(here, rows.length);
  if (!isJudged) return summary.unjudged;
  return there === 0 ? summary.passed : summary.notThere;
}
