import { type ReactNode, useId } from 'react';
import type { Check, Provider, ProviderEvent } from '#shared/provider.ts';
import type { StatusReport } from '#shared/status.ts';
import { formatDuration, formatMoment, formatCount } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { GpuList } from './gpu-list.tsx';
import { Facts } from '../../ui/facts.tsx';
import * as facts from './provider-facts.ts';
import {
  addressOf,
  type CheckGroup,
  checkGroups,
  checkTitle,
  entryText,
  type ProviderCircuit,
} from './provider-standing.ts';

interface ProviderPanelsProps {
  readonly provider: Provider;
  readonly history: readonly ProviderEvent[] | null;
  readonly circuit: ProviderCircuit | undefined;
  readonly latencies: StatusReport['stats']['providerLatencies'][string] | undefined;
  readonly statusAge: facts.ReportAge;
}

export function ProviderPanels(props: ProviderPanelsProps) {
  const { provider, history, circuit, latencies, statusAge } = props;
  const { serverNow } = statusAge;
  const { last_check, checks } = provider.verification;
  const groups = checkGroups(checks);
  const checkedAt =
    last_check === null
      ? 'not tested yet'
      : `at ${formatMoment(Date.parse(last_check), serverNow)}`;
  const isOld = provider.status === 'offline' || provider.status === 'stale';
  const reportedAt = formatMoment(Date.parse(provider.last_heartbeat), serverNow);
  return (
    <div className="provider-panels">
      <Panel subject="gpus" aside={isOld ? `as last reported, ${reportedAt}` : undefined}>
        <GpuList gpu={provider.gpu} />
      </Panel>
      <Panel subject="checks" aside={checkedAt}>
        {groups.length === 0 ? (
          <p className="panel-text">It has not been tested yet.</p>
        ) : (
          <ol className="checks">
            {groups.map((group) => (
              <CheckItem key={group.name} {...group} />
            ))}
          </ol>
        )}
      </Panel>
      <div className="panel-column">
        <Panel subject="serving">
          <Facts facts={facts.servingFacts(provider, latencies)} />
          {provider.models.length > 1 && (
            <details className="models">
              <summary>{`All ${formatCount(provider.models.length)} models`}</summary>
              <ul>
                {provider.models.map((model) => (
                  <li key={model}>{model}</li>
                ))}
              </ul>
            </details>
          )}
        </Panel>
        <Panel subject="circuit">
          <Facts facts={facts.circuitFacts(circuit, statusAge)} />
        </Panel>
      </div>
      <div className="panel-column">
        <Panel subject="machine">
          <Facts facts={facts.machineFacts(provider)} />
        </Panel>
        <Panel subject="connection">
          <Facts facts={facts.networkFacts(provider, serverNow)} />
        </Panel>
      </div>
      <Panel subject="history">
        <ProviderHistory history={history} serverNow={serverNow} />
      </Panel>
    </div>
  );
}

interface PanelProps {
  readonly subject: Exclude<keyof typeof t.providers.panels, 'models' | 'asOf'>;
  readonly aside?: string | undefined;
  readonly children: ReactNode;
}

function Panel({ subject, aside, children }: PanelProps) {
  const id = useId();
  return (
    <section className="panel" aria-labelledby={id} data-subject={subject}>
      <header className="panel-head">
        <h2 id={id}>{t.providers.panels[subject]}</h2>
        {aside !== undefined && <span className="quiet">{aside}</span>}
      </header>
      {children}
    </section>
  );
}

const historyWords = t.providers.history;

function ProviderHistory({
  history,
  serverNow,
}: Pick<ProviderPanelsProps, 'history'> & { readonly serverNow: number }) {
  if (history === null) return <p className="panel-text">The history could not be read.</p>;
  if (history.length === 0) return <p className="panel-text">Nothing has happened yet.</p>;
  return (
    <div className="history" role="log" tabIndex={0} aria-label="History">
      <ol>
        {history.map(({ at, kind, text }, place) => (
          <li key={`${history.length - place} ${at}`}>
            <time dateTime={at}>{formatMoment(Date.parse(at), serverNow)}</time>
            <span className="history-kind">{historyWords.kinds[kind]}</span>
            <span>{text}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

const checkWords = t.providers.checks;
const TONES = { passed: 'green', failed: 'red', missing: 'grey' } as const;
const SIGNS = { passed: '✓', failed: '✕', missing: '–' } as const;

function CheckItem({ name, outcome, entries }: CheckGroup) {
  return (
    <li data-tone={TONES[outcome]}>
      <h3 title={name}>{checkTitle(name)}</h3>
      <span className="check-word">
        <span aria-hidden="true">{SIGNS[outcome]}</span> {checkWords.outcomes[outcome]}
      </span>
      {outcome !== 'missing' && (
        <ul>
          {entries.map((entry, place) => (
            <EntryLine key={`${place} ${entry.detail}`} {...{ entry, outcome }} />
          ))}
        </ul>
      )}
    </li>
  );
}

function EntryLine({ entry, outcome }: Pick<CheckGroup, 'outcome'> & { readonly entry: Check }) {
  const { detail, latencyMs } = entry;
  return (
    <li data-tone={outcome === 'failed' ? 'red' : 'grey'}>
      <code>{addressOf(entry) ?? detail}</code>
      <span className="check-result">{entryText(entry, outcome)}</span>
      <span className="check-took">{latencyMs === undefined ? '' : formatDuration(latencyMs)}</span>
    </li>
  );
}
