import { useId, useState } from 'react';
import type { AgentView, DoctorReport } from '#shared/agent.ts';
import type { Check } from '#shared/provider.ts';
import { formatDuration } from '../../text/format.ts';
import { t } from '../../text/t.ts';
import { ControlButton } from '../../ui/button.tsx';
import { ErrorText } from '../../ui/error-text.tsx';
import { useWindow } from '../../window-context.ts';
import { checkTitle } from '../providers/provider-standing.ts';
import { type DoctorRow, doctorTable, type Side, type Trial } from './doctor-table.ts';

interface DoctorProps {
  readonly view: AgentView;
  /** The registry's results; empty if it does not know the machine. */
  readonly checks: readonly Check[];
}

type Exam =
  | { readonly kind: 'none' | 'running' }
  | { readonly kind: 'done'; readonly report: DoctorReport }
  | { readonly kind: 'failed'; readonly message: string };

/** Runs the gateway's checks on this machine and shows both results side by side. */
export function Doctor({ view, checks }: DoctorProps) {
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
      {table !== null && <DoctorRows rows={table.rows} />}
    </section>
  );
}

const SIGNS = { passed: '✓', failed: '✕', missing: '–', waiting: '…', unasked: '' } as const;

const TONES = {
  passed: 'green',
  failed: 'red',
  missing: 'grey',
  waiting: 'blue',
  unasked: 'grey',
} as const;

const words = t.doctor;

function DoctorRows({ rows }: { readonly rows: readonly DoctorRow[] }) {
  return (
    <table className="doctor-table">
      <thead>
        <tr>
          <th scope="col">{words.check}</th>
          <th scope="col">{words.here}</th>
          <th scope="col">{words.gateway}</th>
        </tr>
      </thead>
      {rows.map((row) => (
        <CheckRow key={row.name} row={row} />
      ))}
    </table>
  );
}

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
  return (
    <td className="doctor-mark" data-tone={TONES[outcome]}>
      <span aria-hidden="true">{SIGNS[outcome]}</span> {words.outcomes[outcome]}
    </td>
  );
}

function Trials({ title, side }: { readonly title: string; readonly side: Side }) {
  return (
    <div>
      <h4>{title}</h4>
      {side.trials.length === 0 && <p className="quiet">{words.nothing[side.outcome]}</p>}
      {side.trials.map((trial, place) => (
        <TrialFacts key={`${place} ${trial.tried}`} trial={trial} />
      ))}
    </div>
  );
}

function TrialFacts({ trial }: { readonly trial: Trial }) {
  const { passed, tried, output, remedy, latencyMs } = trial;
  return (
    <dl className="trial" data-tone={passed ? 'green' : 'red'}>
      <dt>{words.tried}</dt>
      <dd>
        <code>{tried}</code>
        {latencyMs !== null && <span className="quiet"> {formatDuration(latencyMs)}</span>}
      </dd>
      {output !== '' && (
        <>
          <dt>{words.result}</dt>
          <dd>
            <code>{output}</code>
          </dd>
        </>
      )}
      {remedy !== null && (
        <>
          <dt>{words.fix}</dt>
          <dd>
            <strong>{remedy}</strong>
          </dd>
        </>
      )}
    </dl>
  );
}
