import { useEffect, useRef, useState } from 'react';
import type { Agent } from '../../api/agent.ts';
import type { Control } from '../../api/control.ts';
import { hashOf } from '../../route.ts';
import { t } from '../../text/t.ts';
import { EngineChoice } from './engine-choice.tsx';
import { HostedForm } from './hosted-form.tsx';

interface FirstRunProps {
  readonly agent: Pick<Agent, 'read' | 'last'>;
  readonly revision: number | null;
  readonly localUrl: string | null;
  readonly control: boolean;
  readonly actions: Control;
}

const words = t.setup.firstRun;

/** The set-up from no upstream to a first answer. */
export function FirstRun({ agent, revision, localUrl, control, actions }: FirstRunProps) {
  const [works, setWorks] = useState(false);
  const shared = { control, actions, onWorks: () => setWorks(true) };
  return (
    <section className="panel empty first-run" aria-labelledby="setup-title">
      <div className="first-run-head">
        <div>
          <h2 id="setup-title">{works ? words.works : words.title}</h2>
          <p>{works ? words.worksText : words.text}</p>
        </div>
        {works && <FirstMessage />}
      </div>
      <div className="ways">
        <div>
          <h3>{words.here}</h3>
          <EngineChoice {...shared} {...{ agent, revision, localUrl }} />
        </div>
        <div>
          <h3>{words.hosted}</h3>
          <HostedForm {...shared} id="hosted_a" />
        </div>
      </div>
    </section>
  );
}

/** The link to the chat after the set-up; focused, so that Enter continues. */
function FirstMessage() {
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => link.current?.focus(), []);
  return (
    <a ref={link} className="button" href={hashOf({ page: 'chat' })}>
      {words.message}
    </a>
  );
}
