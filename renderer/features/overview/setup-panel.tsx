import { SETUP_WAYS } from './setup.ts';
import { hashOf } from '../../route.ts';
import { CodeLine } from '../../ui/code-line.tsx';

export function SetupPanel() {
  return (
    <section className="panel empty" aria-labelledby="setup-title">
      <h2 id="setup-title">Give it something to serve from</h2>
      <p>
        Set at least one of these in the environment and start Switchyard again, or{' '}
        <a href={hashOf({ page: 'settings', section: 'local' })}>set it up here</a>.
      </p>
      <div className="ways">
        {SETUP_WAYS.map(({ title, hint, lines }) => (
          <div key={title}>
            <h3>{title}</h3>
            <CodeLine text={lines.join('\n')} what={title.toLowerCase()} />
            <p className="quiet">{hint}</p>
          </div>
        ))}
      </div>
    </section>
  );
}
