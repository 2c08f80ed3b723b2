import { useId, useState } from 'react';
import type { SideOutcome, Side, Trial } from './doctor-sides.ts';
import type { DoctorRow } from './doctor-table.ts';
import { formatDuration } from '../../text/format.ts';

const SIGNS = { passed: '✓', failed: '✕', missing: '–', waiting: '…', unasked: '' } as const;
const WORDS: Readonly<Record<SideOutcome, string>> = {
  passed: 'passed',
  failed: 'failed',
  missing: 'not run',
  waiting: 'waiting',
  unasked: 'not asked',
};
const TONES = {
  passed: 'green',
  failed: 'red',
  missing: 'grey',
  waiting: 'blue',
  unasked: 'grey',
} as const;

const HERE = 'From here';
const GATEWAY = 'As the gateway sees it';

/** The checks as rows, with one column for each side. */
export function DoctorRows({ rows }: { readonly rows: readonly DoctorRow[] }) {
  return (
    <table className="doctor-table">
      <thead>
        <tr>
          <th scope="col">Check</th>
          <th scope="col">{HERE}</th>
          <th scope="col">{GATEWAY}</th>
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
  // What is to be mended is read without asking for it.
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
            {name}
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
            <Trials title={HERE} side={here} />
            <Trials title={GATEWAY} side={gateway} />
          </div>
        </td>
      </tr>
    </tbody>
  );
}

function Mark({ side: { outcome } }: { readonly side: Side }) {
  return (
    <td className="doctor-mark" data-tone={TONES[outcome]}>
      <span aria-hidden="true">{SIGNS[outcome]}</span> {WORDS[outcome]}
    </td>
  );
}

function Trials({ title, side }: { readonly title: string; readonly side: Side }) {
  return (
    <div>
      <h4>{title}</h4>
      {side.trials.length === 0 && <p className="quiet">{NOTHING[side.outcome]}</p>}
      {side.trials.map((trial, place) => (
        <TrialFacts key={`${place} ${trial.tried}`} trial={trial} />
      ))}
    </div>
  );
}

const NOTHING: Readonly<Record<SideOutcome, string>> = {
  passed: 'It passed; the gateway tells no more.',
  failed: 'It failed; the gateway tells no more.',
  missing: 'It was not run: what it rests on has failed.',
  waiting: 'The gateway has not checked this machine yet.',
  unasked: 'Only this machine can tell.',
};

function TrialFacts({ trial }: { readonly trial: Trial }) {
  const { passed, tried, output, remedy, latencyMs } = trial;
  return (
    <dl className="trial" data-tone={passed ? 'green' : 'red'}>
      <dt>Tried</dt>
      <dd>
        <code>{tried}</code>
        {latencyMs !== null && <span className="quiet"> {formatDuration(latencyMs)}</span>}
      </dd>
      {output !== '' && (
        <>
          <dt>Got</dt>
          <dd>
            <code>{output}</code>
          </dd>
        </>
      )}
      {remedy !== null && (
        <>
          <dt>Do</dt>
          <dd>
            <strong>{remedy}</strong>
          </dd>
        </>
      )}
    </dl>
  );
}
