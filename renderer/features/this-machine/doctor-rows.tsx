import { useId, useState } from 'react';
import type { Side, Trial } from './doctor-sides.ts';
import { checkTitle } from '../providers/provider-checks.ts';
import type { DoctorRow } from './doctor-table.ts';
import { formatDuration } from '../../text/format.ts';
import { t } from '../../text/t.ts';

const SIGNS = { passed: '✓', failed: '✕', missing: '–', waiting: '…', unasked: '' } as const;

const TONES = {
  passed: 'green',
  failed: 'red',
  missing: 'grey',
  waiting: 'blue',
  unasked: 'grey',
} as const;

const words = t.doctor;

/** The checks as rows, with a column for each side. */
export function DoctorRows({ rows }: { readonly rows: readonly DoctorRow[] }) {
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
