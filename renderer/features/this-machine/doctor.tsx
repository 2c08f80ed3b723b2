import { useId, useState } from 'react';
import {
  type AgentMembership,
  type AgentView,
  DOCTOR_GROUNDS,
  type DoctorEntry,
  type DoctorReport,
} from '#shared/agent.ts';
import type { Answer } from '../../api/client.ts';
import type { Check } from '#shared/provider.ts';
import { formatDuration } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { ControlButton } from '../../ui/buttons.tsx';
import { ErrorText } from '../../ui/fields.tsx';
import { useWindow } from '../../window-context.ts';
import { checkTitle } from '../providers/provider-standing.ts';
import { CHECK_MISSING, CHECKS, failuresIn } from '#shared/checks.ts';

interface DoctorProps {
  readonly view: AgentView;
  /** The registry's results; empty if it does not know the machine. */
  readonly checks: readonly Check[];
}

export function Doctor({ view, checks }: DoctorProps) {
  const { agent } = useWindow();
  const [answer, setAnswer] = useState<Answer<DoctorReport> | null>(null);
  const [isRunning, setRunning] = useState(false);
  const table = answer?.ok ? doctorTable(answer.value, view, checks) : null;

  const run = async (): Promise<void> => {
    if (isRunning) return;
    setRunning(true);
    setAnswer(await agent.examine());
    setRunning(false);
  };

  return (
    <section className="doctor" aria-labelledby="doctor-title">
      <header>
        <h3 id="doctor-title">{t.doctor.title}</h3>
        <output className="quiet">
          {isRunning ? t.doctor.running : (table?.says ?? t.doctor.about)}
        </output>
        <ControlButton aria-disabled={isRunning || undefined} onClick={() => void run()}>
          {answer === null && !isRunning ? t.doctor.run : t.doctor.again}
        </ControlButton>
      </header>
      {answer?.ok === false && !isRunning && <ErrorText text={answer.refusal.message} />}
      {table !== null && !isRunning && (
        <table className="doctor-table">
          <thead>
            <tr>
              <th scope="col">{words.check}</th>
              <th scope="col">{words.here}</th>
              <th scope="col">{words.gateway}</th>
            </tr>
          </thead>
          {table.rows.map((row) => (
            <CheckRow key={row.name} row={row} />
          ))}
        </table>
      )}
    </section>
  );
}

const LOOKS = {
  passed: ['green', '✓'],
  failed: ['red', '✕'],
  missing: ['grey', '–'],
  waiting: ['blue', '…'],
  unasked: ['grey', ''],
} as const;

const words = t.doctor;

function CheckRow({ row }: { readonly row: DoctorRow }) {
  const { name, here, gateway, note } = row;
  const id = useId();
  // Failed checks are open, so that the remedy is visible.
  const [isOpen, setOpen] = useState(here.outcome === 'failed');
  return (
    <tbody>
      <tr>
        <th scope="row">
          <button
            type="button"
            className="doctor-name"
            aria-expanded={isOpen}
            aria-controls={id}
            onClick={() => setOpen(!isOpen)}
          >
            {checkTitle(name)}{' '}
            <small className="quiet">{name === checkTitle(name) ? '' : name}</small>
          </button>
        </th>
        <Mark side={here} />
        <Mark side={gateway} />
      </tr>
      {note !== null && (
        <tr className="doctor-note">
          <td colSpan={3}>{note}</td>
        </tr>
      )}
      <tr id={id} hidden={!isOpen}>
        <td colSpan={3}>
          <div className="doctor-sides">
            <Trials title={words.here} side={here} />
            <Trials title={words.gateway} side={gateway} />
          </div>
        </td>
      </tr>
    </tbody>
  );
}

function Mark({ side: { outcome } }: { readonly side: Side }) {
  const [tone, sign] = LOOKS[outcome];
  return (
    <td className="doctor-mark" data-tone={tone}>
      <span aria-hidden="true">{sign}</span> {words.outcomes[outcome]}
    </td>
  );
}

function Trials({ title, side }: { readonly title: string; readonly side: Side }) {
  return (
    <div>
      <h4>{title}</h4>
      {side.trials.length === 0 && <p className="quiet">{words.nothing[side.outcome]}</p>}
      {side.trials.map((trial, place) => (
        <dl
          key={`${place} ${trial.tried}`}
          className="trial"
          data-tone={trial.passed ? 'green' : 'red'}
        >
          <dt>{words.tried}</dt>
          <dd>
            <code>{trial.tried}</code>
            {trial.latencyMs !== null && (
              <span className="quiet"> {formatDuration(trial.latencyMs)}</span>
            )}
          </dd>
          {trial.output !== '' && <dt>{words.result}</dt>}
          {trial.output !== '' && (
            <dd>
              <code>{trial.output}</code>
            </dd>
          )}
          {trial.remedy !== null && <dt>{words.fix}</dt>}
          {trial.remedy !== null && (
            <dd>
              <strong>{trial.remedy}</strong>
            </dd>
          )}
        </dl>
      ))}
    </div>
  );
}

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
