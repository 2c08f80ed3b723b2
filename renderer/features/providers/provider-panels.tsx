import { useId, type ReactNode } from 'react';
import type { Provider, ProviderEvent } from '#shared/provider.ts';
import type { StatusReport } from '#shared/status.ts';
import { formatMoment } from '../../text/format.ts';
import { circuitFacts, type ReportAge } from './provider-circuit.ts';
import { machineFacts, networkFacts, servingFacts } from './provider-facts.ts';
import type { ProviderCircuit } from './provider-standing.ts';
import { CheckTable } from './check-table.tsx';
import { Facts } from './facts.tsx';
import { GpuList } from './gpu-list.tsx';
import { ProviderHistory } from './provider-history.tsx';
import { t } from '../../text/t.ts';

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
