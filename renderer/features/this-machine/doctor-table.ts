import {
  type AgentMembership,
  type AgentView,
  DOCTOR_GROUNDS,
  type DoctorEntry,
  type DoctorReport,
} from '#shared/agent.ts';
import { CHECK_MISSING, CHECKS, failuresIn } from '#shared/checks.ts';
import type { Check } from '#shared/provider.ts';
import * as t from '../../text/t.ts';

const { notes, summary } = t.doctor;

export interface DoctorRow {
  readonly name: string;
  readonly here: Side;
  readonly gateway: Side;
  readonly note: string | null;
}

/** Checks that the gateway judges by heartbeats alone. */
const TOLD: readonly string[] = [CHECKS.engineHealth, CHECKS.gpuCount];
const GROUNDS: readonly string[] = DOCTOR_GROUNDS;
const UNASKED: Side = { outcome: 'unasked', trials: [] };

export function doctorTable(
  { checks: entries }: DoctorReport,
  { registry }: Pick<AgentView, 'registry'>,
  checks: readonly Check[],
) {
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
    note: noteOn(row, registry.kind === 'own', isCutOff),
  }));
  return { says: summaryOf(rows), rows };
}

type Sides = Omit<DoctorRow, 'note'>;

const isOnlyHere = ({ here, gateway }: Sides): boolean =>
  here.outcome === 'passed' && gateway.outcome === 'failed';

/**
 * `isOwn`: the gateway runs on this machine. `isCutOff`: the gateway cannot reach an agent that answers locally.
 */
function noteOn(row: Sides, isOwn: boolean, isCutOff: boolean): string | null {
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

/** `waiting`: no result yet; `unasked`: the other side's check. */
type SideOutcome = 'passed' | 'failed' | 'missing' | 'waiting' | 'unasked';

export interface Trial {
  readonly passed: boolean;
  /** A request or a command line; null if not reported. */
  readonly tried: string | null;
  readonly output: string;
  readonly remedy: string | null;
  readonly latencyMs: number | null;
}

export interface Side {
  readonly outcome: SideOutcome;
  readonly trials: readonly Trial[];
}

/** `checks` only if the machine reports to the gateway that serves this page. */
interface GatewayView {
  readonly verification: NonNullable<AgentMembership['standing']>['verification'] | null;
  readonly checks: readonly Check[];
}

function hereSide(entries: readonly DoctorEntry[]): Side {
  const ran = entries.filter(({ output }) => output !== CHECK_MISSING);
  const trials = ran.map(({ latencyMs = null, passed, tried, output, remedy }) => {
    return { passed, tried, output, remedy, latencyMs };
  });
  return sideOf(trials);
}

function gatewaySide(name: string, { verification, checks }: GatewayView): Side {
  const own = checks.filter((check) => check.name === name);
  if (own.length > 0) return sideOf(trialsOf(own));
  if (verification?.status !== 'verified' && verification?.status !== 'failed') {
    return { outcome: 'waiting', trials: [] };
  }
  const failures = failuresIn(verification.failure_reason).filter((one) => one.name === name);
  if (failures.length === 0) return { outcome: 'passed', trials: [] };
  return sideOf(trialsOf(failures.map(({ error }) => ({ name, passed: false, error }))));
}

function trialsOf(checks: readonly Check[]): readonly Trial[] {
  const ran = checks.filter(({ error }) => error !== CHECK_MISSING);
  // A check without a network call uses the heartbeat.
  return ran.map(({ passed, detail, error, latencyMs = null }) => {
    const output = passed ? t.doctor.passed : (error ?? t.doctor.failed);
    return { passed, tried: detail ?? t.doctor.heartbeat, output, remedy: null, latencyMs };
  });
}

function sideOf(trials: readonly Trial[]): Side {
  if (trials.length === 0) return { outcome: 'missing', trials };
  return { outcome: trials.some(({ passed }) => passed) ? 'passed' : 'failed', trials };
}
