import { Fragment, type ReactNode } from 'react';
import type { ProvidersSummary, UpstreamTally } from '#shared/live.ts';
import type { UpstreamId } from '#shared/ids.ts';
import type { Condition } from './condition.ts';
import { formatCompact, formatCount, formatDuration } from '../../text/format.ts';
import { hashOf } from '../../route.ts';
import type { Station as StationModel } from './upstream-list.ts';
import { stationWords } from './upstream-status-text.ts';
import { Breaker } from './breaker.tsx';
import { StateWord } from '../../ui/state-word.tsx';
import { t } from '../../text/t.ts';

interface StationProps {
  readonly station: StationModel;
  readonly tally: UpstreamTally;
  /** The machines of the local pool; null for other upstreams and while there are none. */
  readonly machines: ProvidersSummary | null;
  /** Null if it cannot be set up here. */
  readonly onSetUp: (() => void) | null;
  readonly children: ReactNode;
}

const words = t.overview.line;

export function Station({ station, tally, machines, onSetUp, children }: StationProps) {
  const { report, condition, flow, inFlight } = station;
  const { tone, word, means, detail } = stationWords(station);
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
      <div className="serves">
        <p className="model" title={report.model}>
          {missing ? '' : report.model || words.anyModel}
        </p>
        {machines !== null && !missing && (
          <p className="machines">
            <a href={hashOf({ page: 'providers', filter: 'all' })}>{words.machines(machines)}</a>
            <span>{words.capacity(machines)}</span>
          </p>
        )}
      </div>
      <p className="state">
        <StateWord {...{ word, means }} />
        <span className="state-detail">{detail}</span>
      </p>
      {missing ? (
        <SetHint {...{ onSetUp }} id={report.id} label={report.label} wants={condition.wants} />
      ) : (
        <dl className="figures">
          <Figure label={words.inFlight} value={formatCount(inFlight)} />
          <Figure
            label={words.firstToken}
            value={ewmaTtft === null ? '–' : formatDuration(ewmaTtft)}
          />
          <Figure
            label={words.answered}
            value={
              tally.asked === 0
                ? '–'
                : words.answeredOf(formatCompact(tally.answered), formatCompact(tally.asked))
            }
            note={words.extraCalls(tally.retries, tally.polls)}
          />
        </dl>
      )}
      {children}
    </li>
  );
}

interface FigureProps {
  readonly label: string;
  readonly value: string;
  readonly note?: string | null;
}

function Figure({ label, value, note = null }: FigureProps) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        {value}
        {note !== null && <span className="figure-note"> {note}</span>}
      </dd>
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
          {words.setUp(label)}
        </a>
      </p>
    );
  }
  if (onSetUp !== null && wants !== 'key') {
    return (
      <p className="set-hint">
        <button type="button" className="button" onClick={onSetUp}>
          {words.setUp(label)}
        </button>
      </p>
    );
  }
  if (wants === 'engine') {
    return <p className="set-hint">{words.startEngine}</p>;
  }
  return (
    <p className="set-hint">
      {words.set(
        <code>
          {variableFor(id, wants).map((part) => (
            <Fragment key={part}>
              {part}
              <wbr />
            </Fragment>
          ))}
        </code>,
      )}
    </p>
  );
}

/** The variable to set, in parts between which a line may break. */
function variableFor(id: UpstreamId, wants: 'address' | 'key'): readonly string[] {
  if (id === 'local') return ['SWITCHYARD_', 'LOCAL_', 'ENGINE_', 'URL'];
  return ['SWITCHYARD_', `${id.toUpperCase()}_`, wants === 'key' ? 'API_KEY' : 'BASE_URL'];
}
