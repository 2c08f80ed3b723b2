import { Fragment, type ReactNode } from 'react';
import type { UpstreamId } from '#shared/ids.ts';
import type { Condition } from './condition.ts';
import { formatCompact, formatCount, formatDuration } from '../../text/format.ts';
import type { Station as StationModel } from './upstream-list.ts';
import { hashOf } from '../../route.ts';
import { stationWords } from './upstream-status-text.ts';
import { Breaker } from './breaker.tsx';

interface StationProps {
  readonly station: StationModel;
  readonly requests: number;
  readonly successes: number;
  /** Null where it cannot be set up here. */
  readonly onSetUp: (() => void) | null;
  readonly children: ReactNode;
}

export function Station({ station, requests, successes, onSetUp, children }: StationProps) {
  const { report, condition, flow, inFlight } = station;
  const { tone, word, detail } = stationWords(station);
  const missing = condition.kind === 'missing';
  const { ewmaTtft } = report.circuit;
  return (
    <li
      className="station"
      data-tone={tone}
      data-flow={flow}
      data-missing={missing || undefined}
      data-off={condition.kind === 'zero-spend' || undefined}
    >
      <div className="track">
        <span className="segment" data-live={flow !== 'none' || undefined} />
        <Breaker condition={condition} flow={flow} />
        <span className="segment" data-live={flow === 'round' || flow === 'through' || undefined} />
      </div>
      <h3 tabIndex={-1}>{report.label}</h3>
      <p className="model" title={report.model}>
        {missing ? '' : report.model || 'the model that the app asks for'}
      </p>
      <p className="state">
        <span className="pill">{word}</span>
        <span className="state-detail">{detail}</span>
      </p>
      {missing ? (
        <SetHint {...{ onSetUp }} id={report.id} label={report.label} wants={condition.wants} />
      ) : (
        <dl className="figures">
          <Figure label="in flight" value={formatCount(inFlight)} />
          <Figure
            label="avg. first token"
            value={ewmaTtft === null ? '–' : formatDuration(ewmaTtft)}
          />
          <Figure
            label="succeeded"
            value={
              requests === 0 ? '–' : `${formatCompact(successes)} of ${formatCompact(requests)}`
            }
          />
        </dl>
      )}
      {children}
    </li>
  );
}

function Figure({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

interface SetHintProps {
  readonly id: UpstreamId;
  readonly label: string;
  readonly onSetUp: (() => void) | null;
  readonly wants: Extract<Condition, { readonly kind: 'missing' }>['wants'];
}

function SetHint({ id, label, wants, onSetUp }: SetHintProps) {
  if (id === 'ondemand' && onSetUp !== null) {
    return (
      <p className="set-hint">
        <a className="button" href={hashOf({ page: 'settings', section: id })}>
          Set up<span className="unseen"> {label}</span>
        </a>
      </p>
    );
  }
  if (onSetUp !== null && wants !== 'key') {
    return (
      <p className="set-hint">
        <button type="button" className="button" onClick={onSetUp}>
          Set up<span className="unseen"> {label}</span>
        </button>
      </p>
    );
  }
  if (wants === 'engine') {
    return (
      <p className="set-hint">Start an engine on this machine; it is detected automatically.</p>
    );
  }
  return (
    <p className="set-hint">
      Set{' '}
      <code>
        {variableFor(id, wants).map((part) => (
          <Fragment key={part}>
            {part}
            <wbr />
          </Fragment>
        ))}
      </code>
    </p>
  );
}

/** The variable to set, in the parts between which it may be broken. */
function variableFor(id: UpstreamId, wants: 'address' | 'key'): readonly string[] {
  if (id === 'local') return ['SWITCHYARD_', 'LOCAL_', 'ENGINE_', 'URL'];
  return ['SWITCHYARD_', `${id.toUpperCase()}_`, wants === 'key' ? 'API_KEY' : 'BASE_URL'];
}
