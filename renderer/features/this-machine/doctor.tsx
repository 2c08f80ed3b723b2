import { useId, useState } from 'react';
import type { AgentView, DoctorReport } from '#shared/agent.ts';
import type { Check } from '#shared/provider.ts';
import { formatDuration } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { ControlButton } from '../../ui/buttons.tsx';
import { ErrorText } from '../../ui/fields.tsx';
import { useWindow } from '../../window-context.ts';
import { checkTitle } from '../providers/provider-standing.ts';
import { type DoctorRow, doctorTable, type Side } from './doctor-table.ts';

type Exam =
  | { readonly kind: 'none' | 'running' }
  | { readonly kind: 'done'; readonly report: DoctorReport }
  | { readonly kind: 'failed'; readonly message: string };

/** `checks`: the registry's results; empty if it does not know the machine. */
export function Doctor({
  view,
  checks,
}: {
  readonly view: AgentView;
  /** The registry's results; empty if it does not know the machine. */
  readonly checks: readonly Check[];
}) {
  const { agent } = useWindow();
  const [exam, setExam] = useState<Exam>({ kind: 'none' });
  const isRunning = exam.kind === 'running';
  const table = exam.kind === 'done' ? doctorTable(exam.report, view, checks) : null;

  const run = async (): Promise<void> => {
    if (isRunning) return;
    setExam({ kind: 'running' });
    const answer = await agent.examine();
    setExam(
      answer.ok
        ? { kind: 'done', report: answer.value }
        : { kind: 'failed', message: answer.refusal.message },
    );
  };

  return (
    <section className="doctor" aria-labelledby="doctor-title">
      <header>
        <h3 id="doctor-title">{t.doctor.title}</h3>
        <output className="quiet">
          {isRunning ? t.doctor.running : (table?.says ?? t.doctor.about)}
        </output>
        <ControlButton aria-disabled={isRunning || undefined} onClick={() => void run()}>
          {exam.kind === 'none' ? t.doctor.run : t.doctor.again}
        </ControlButton>
      </header>
      {exam.kind === 'failed' && <ErrorText text={exam.message} />}
      {table !== null && (
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
