import { useEffect, useRef, useState } from 'react';
import type { Agent } from '../../api/agent.ts';
import type { Control } from '../../api/control.ts';
import { hashOf } from '../../route.ts';
import { EngineChoice } from './engine-choice.tsx';
import { HostedForm } from './hosted-form.tsx';

interface FirstRunProps {
  readonly agent: Pick<Agent, 'read' | 'last'>;
  readonly revision: number | null;
  readonly localUrl: string | null;
  readonly control: boolean;
  readonly actions: Control;
}

/** Leads from nothing to a first answer. */
export function FirstRun({ agent, revision, localUrl, control, actions }: FirstRunProps) {
  const [works, setWorks] = useState(false);
  const shared = { control, actions, onWorks: () => setWorks(true) };
  return (
    <section className="panel empty first-run" aria-labelledby="setup-title">
      <div className="first-run-head">
        <div>
          <h2 id="setup-title">
            {works ? 'Your first model answers' : 'Connect your first model'}
          </h2>
          <p>
            {works
              ? 'Try it here, or give your apps the base URL above.'
              : 'One is enough. Each is tested with a short request as soon as it is saved.'}
          </p>
        </div>
        {works && <FirstMessage />}
      </div>
      <div className="ways">
        <div>
          <h3>On this machine</h3>
          <EngineChoice {...shared} {...{ agent, revision, localUrl }} />
        </div>
        <div>
          <h3>A hosted API, or another machine</h3>
          <HostedForm {...shared} id="hosted_a" />
        </div>
      </div>
    </section>
  );
}

/** Enter goes on from where the set-up ended. */
function FirstMessage() {
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => link.current?.focus(), []);
  return (
    <a ref={link} className="button" href={hashOf({ page: 'chat' })}>
      Send a first message
    </a>
  );
}
