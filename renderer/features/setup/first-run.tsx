import { useEffect, useRef, useState } from 'react';
import { TRY_IT } from '../../route.ts';
import { useWindow } from '../../window-context.ts';
import { EngineChoice } from './engine-choice.tsx';
import { HostedForm } from './hosted-form.tsx';

export function FirstRun() {
  const { verdict } = useWindow().data.judgement;
  const [isTested, setTested] = useState(false);
  const onWorks = () => setTested(true);
  // An engine that was found by itself needs no click.
  const works = isTested || verdict.kind === 'serving';
  return (
    <section className="panel empty first-run" aria-labelledby="setup-title">
      <div className="row first-run-head">
        <div>
          <h2 id="setup-title">{works ? 'Your first model works' : 'Connect your first model'}</h2>
          <p>
            {works
              ? 'Send it a message, or point your apps at the base URL above.'
              : 'One is enough. It is tested with a short request as soon as you save it.'}
          </p>
        </div>
        {works && <FirstMessage isFocused={isTested} />}
      </div>
      <div className="ways">
        <div>
          <h3>On this machine</h3>
          <EngineChoice onWorks={onWorks} />
        </div>
        <div>
          <h3>A hosted API, or another machine</h3>
          <HostedForm id="hosted_a" onWorks={onWorks} />
        </div>
      </div>
    </section>
  );
}

/** The link to a first prompt after the set-up; focused after a click, so that Enter continues. */
function FirstMessage({ isFocused }: { readonly isFocused: boolean }) {
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (isFocused) link.current?.focus();
  }, [isFocused]);
  return (
    <a ref={link} className="button" data-primary href={TRY_IT}>
      Send a first message
    </a>
  );
}
