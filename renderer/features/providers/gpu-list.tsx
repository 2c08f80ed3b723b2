import type { Provider } from '#shared/provider.ts';
import { type Meter, metersOf } from './provider-facts.ts';

export function GpuList({ gpu }: Pick<Provider, 'gpu'>) {
  if (gpu.devices.length === 0) {
    return <p className="panel-text">The agent reports no GPU. Check that its driver is loaded.</p>;
  }
  return (
    <ol className="gpus">
      {gpu.devices.map((device) => (
        <li key={device.index}>
          <h3>
            <span className="gpu-index">{`GPU ${device.index}`}</span> {device.name}
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

function MeterLine({ label, text, share, isHot = false }: Meter) {
  return (
    <div data-unknown={share === null || undefined} data-tone={isHot ? 'amber' : undefined}>
      <dt>{label}</dt>
      <dd>{text}</dd>
      {/* The words above say the same. */}
      <span className="meter" aria-hidden="true">
        {share !== null && <span style={{ width: `${(share * 100).toFixed(1)}%` }} />}
      </span>
    </div>
  );
}
