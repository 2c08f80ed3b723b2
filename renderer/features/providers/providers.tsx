import { formatCount } from '../../text/format.ts';
import { useMemo } from 'react';
import { JOIN_COMMAND } from '#shared/lifetimes.ts';
import { hashOf, type Route } from '../../route.ts';
import * as t from '../../text/t.ts';
import { ControlButton } from '../../ui/buttons.tsx';
import { Unreadable } from '../../ui/facts.tsx';
import { Filters, Select } from '../../ui/fields.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';
import { directMachine, ownMachine } from '../this-machine/agent-engine.ts';
import { ThisMachine } from '../this-machine/this-machine.tsx';
import { AddMachine } from './add-machine.tsx';
import { ProviderList } from './provider-list.tsx';
import {
  COLUMN_IDS,
  type ColumnId,
  countsOf,
  entriesOf,
  matchesGroup,
  matchesText,
} from './provider-listing.ts';
import { PROVIDER_FILTERS, type ProviderEntry, type ProviderFilter } from './provider-standing.ts';

export interface ProvidersView {
  readonly text: string;
  readonly sort: ColumnId;
}

interface ProvidersProps {
  readonly filter: ProviderFilter;
  readonly dialog: Extract<Route, { page: 'providers' }>['dialog'];
  readonly view: ProvidersView;
  readonly onView: (view: ProvidersView) => void;
  readonly opened: string | null;
}

export function Providers({ filter, dialog, view, onView, opened }: ProvidersProps) {
  const { data, frozenAt, control, registry, agent } = useWindow();
  const revision = data.providers.revision;
  const reading = useReading(registry.readList, revision, registry.lastList());
  const { value: list, failure, again } = reading;
  const { providerCircuits } = data.status.stats;
  const directId = directMachine(agent.last(), data.status);
  const hereId = ownMachine(agent.last());
  const all = useMemo(
    () => entriesOf(list ?? NONE, providerCircuits, { directId, hereId }),
    [list, providerCircuits, directId, hereId],
  );
  const here = all.find(({ isHere }) => isHere);
  const failed = list === null && frozenAt === null ? failure : null;
  const isReading = list === null && failed === null;
  return (
    <>
      <div className="row page-head">
        <div>
          <h1>Machines</h1>
          <p className="quiet">
            {isReading ? t.shell.reading : list !== null && t.providers.summary(countsOf(all))}
          </p>
        </div>
        <ControlButton data-primary onClick={() => void (location.hash = ADD)}>
          Add a machine
        </ControlButton>
      </div>
      <ThisMachine joining={dialog === 'join'} listed={here?.provider ?? null} />
      {failed && (
        <Unreadable what="The machines" message={failed.refusal.message} onRetry={again} />
      )}
      {list !== null && all.length === 0 && <NoProviders />}
      {list !== null && all.length > 0 && (
        <Machines
          {...{ filter, view, onView, opened }}
          entries={all}
          unread={list.count - list.data.length}
        />
      )}
      {dialog === 'add' && control && (
        <AddMachine list={list} onClose={() => void (location.hash = LIST)} />
      )}
    </>
  );
}
const LIST = hashOf({ page: 'providers', filter: 'all' });
export const ADD = hashOf({ page: 'providers', filter: 'all', dialog: 'add' });

interface MachinesProps extends Pick<ProvidersProps, 'filter' | 'view' | 'onView' | 'opened'> {
  readonly entries: readonly ProviderEntry[];
  readonly unread: number;
}

function Machines(props: MachinesProps) {
  const { entries, filter, view, onView, opened, unread } = props;
  const { text, sort } = view;
  const named = useMemo(
    () => (text.trim() === '' ? entries : entries.filter((one) => matchesText(one, text.trim()))),
    [entries, text],
  );
  const shown = useMemo(
    () => named.filter((entry) => matchesGroup(entry, filter)),
    [named, filter],
  );
  // A link may have set a filter; then the way back is needed.
  const needsSearch = entries.length > 5 || filter !== 'all' || text !== '';
  // Its card tells of this machine what a row would.
  if (!needsSearch && entries.every(({ isHere }) => isHere)) return null;
  return (
    <>
      {needsSearch && (
        <search className="provider-filters">
          <Filters
            label="Which machines"
            choices={PROVIDER_FILTERS}
            chosen={filter}
            words={t.providers.groups}
            counts={countsOf(named)}
            hash={(choice) => hashOf({ page: 'providers', filter: choice })}
          />
          <input
            type="search"
            className="search"
            aria-label="Filter by name, note, chip, model or address"
            placeholder="Name, chip or model"
            autoComplete="off"
            spellCheck={false}
            value={text}
            onChange={({ target }) => onView({ ...view, text: target.value })}
          />
          <label className="provider-sort">
            {'Sort by '}
            <Select
              value={sort}
              options={COLUMN_IDS.map((id) => [id, t.providers.columns[id].sort])}
              onChoose={(by) => onView({ ...view, sort: by })}
            />
          </label>
        </search>
      )}
      <section className="panel" aria-label="Machines">
        {shown.length > 0 ? (
          <ProviderList key={`${filter}/${sort}`} entries={shown} {...{ sort, opened }} />
        ) : (
          <div className="empty">
            <h2>No machine here</h2>
            <p>
              {text.trim() === ''
                ? 'None is in this state.'
                : `None in this state matches “${text.trim()}”.`}{' '}
              <a href={LIST} onClick={() => onView({ ...view, text: '' })}>
                Show all
              </a>
            </p>
          </div>
        )}
      </section>
      {unread > 0 && (
        <p className="quiet">{`${formatCount(unread)} more machines report to this gateway than are listed here; the API lists them all.`}</p>
      )}
    </>
  );
}

const NONE = { data: [], notes: {} };

function NoProviders() {
  return (
    <section className="panel empty" aria-labelledby="no-providers">
      <h2 id="no-providers">No machine with a GPU reports to this gateway yet</h2>
      <p>
        Add a machine with a GPU and an inference engine, such as Ollama, llama.cpp, vLLM or LM
        Studio. Requests for your GPUs go to the machines listed here.
      </p>
      <p>
        “Add a machine” gives you one command to run there. It works once, for {JOIN_COMMAND.words}.
      </p>
    </section>
  );
}
