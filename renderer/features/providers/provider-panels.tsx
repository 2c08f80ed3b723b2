import { useId, type ReactNode } from 'react';
import type { Provider, ProviderEvent } from '#shared/provider.ts';
import type { StatusReport } from '#shared/status.ts';
import { formatMoment } from '../../text/format.ts';
import { circuitFacts, type ReportAge } from './provider-circuit.ts';
import { machineFacts, networkFacts, servingFacts } from './provider-facts.ts';
import type { ProviderCircuit } from './provider-standing.ts';
import { CheckTable } from './check-table.tsx';
import { Facts } from './facts.tsx';
import { t } from '../../text/t.ts';
import { metersOf, type Meter } from './provider-gpu.ts';

interface ProviderPanelsProps {
  readonly provider: Provider;
  readonly history: readonly ProviderEvent[] | null;
  readonly circuit: ProviderCircuit | undefined;
  readonly latencies: StatusReport['stats']['providerLatencies'][string] | undefined;
  readonly statusAge: ReportAge;
}

export function ProviderPanels(props: ProviderPanelsProps) {
  const { provider, history, circuit, latencies, statusAge } = props;
  const { serverNow } = statusAge;
  const { last_check } = provider.verification;
  const checkedAt =
    last_check === null
      ? t.providers.checks.never
      : t.providers.checks.at(formatMoment(Date.parse(last_check), serverNow));
  return (
    <div className="provider-panels">
      <Panel subject="gpus">
        <GpuList gpu={provider.gpu} />
      </Panel>
      <Panel subject="checks" aside={checkedAt}>
        <CheckTable verification={provider.verification} />
      </Panel>
      <div className="panel-column">
        <Panel subject="serving">
          <Facts facts={servingFacts(provider, latencies)} />
          {provider.models.length > 1 && (
            <details className="models">
              <summary>{t.providers.panels.models(provider.models.length)}</summary>
              <ul>
                {provider.models.map((model) => (
                  <li key={model}>{model}</li>
                ))}
              </ul>
            </details>
          )}
        </Panel>
        <Panel subject="circuit">
          <Facts facts={circuitFacts(circuit, statusAge)} />
        </Panel>
      </div>
      <div className="panel-column">
        <Panel subject="machine">
          <Facts facts={machineFacts(provider)} />
        </Panel>
        <Panel subject="connection">
          <Facts facts={networkFacts(provider, serverNow)} />
        </Panel>
      </div>
      <Panel subject="history">
        <ProviderHistory history={history} serverNow={serverNow} />
      </Panel>
    </div>
  );
}

interface PanelProps {
  readonly subject: Exclude<keyof typeof t.providers.panels, 'models'>;
  readonly aside?: string;
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

interface ProviderHistoryProps {
  /** Null if it could not be read. */
  readonly history: readonly ProviderEvent[] | null;
  readonly serverNow: number;
}

const words = t.providers.history;

/** The events of a machine, newest first. */
function ProviderHistory({ history, serverNow }: ProviderHistoryProps) {
  if (history === null) return <p className="panel-text">{words.unreadable}</p>;
  if (history.length === 0) return <p className="panel-text">{words.none}</p>;
  return (
    <ol className="history">
      {history.map(({ at, kind, text }, place) => (
        <li key={`${history.length - place} ${at}`}>
          <time dateTime={at}>{formatMoment(Date.parse(at), serverNow)}</time>
          <span className="history-kind">{words.kinds[kind]}</span>
          <span>{text}</span>
        </li>
      ))}
    </ol>
  );
}

/** Every GPU of a machine with its meters. */
function GpuList({ gpu }: Pick<Provider, 'gpu'>) {
  if (gpu.devices.length === 0) {
    return <p className="panel-text">{t.providers.gpu.noGpu}</p>;
  }
  return (
    <ol className="gpus">
      {gpu.devices.map((device) => (
        <li key={device.index}>
          <h3>
            <span className="gpu-index">{t.providers.gpu.index(device.index)}</span> {device.name}
          </h3>
          <dl className="meters">
            {metersOf(device).map((meter) => (
              <MeterLine key={meter.label} {...meter} />
            ))}
          </dl>
        </li>
      ))}
    </ol>
  );
}

function MeterLine({ label, text, share }: Meter) {
  return (
    <div data-unknown={share === null || undefined}>
      <dt>{label}</dt>
      <dd>{text}</dd>
      {/* The words above say the same. */}
      <span className="meter" aria-hidden="true">
        {share !== null && <span style={{ width: `${(share * 100).toFixed(1)}%` }} />}
      </span>
    </div>
  );
}
