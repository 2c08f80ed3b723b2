import { useEffect, useRef, useState } from 'react';
import type { RequestRow } from '#shared/live.ts';
import type { LiveData } from '../../api/window-state.ts';
import { hashOf, TRY_IT } from '../../route.ts';
import { useWindow } from '../../window-context.ts';
import { isFromBrowser } from '../requests/request-text.ts';
import { ConnectApp } from './connect-app.tsx';
import { type FreeSeats, Ways } from './setup-dialog.tsx';

/** Says how to connect a model until one answers, and then how to point an app at it until one has been answered. */
export function FirstRun({ seats }: { readonly seats: FreeSeats }) {
  const { data } = useWindow();
  const [isTested, setTested] = useState(false);
  const { kind } = data.judgement.verdict;
  // An engine that was found by itself needs no click, and one that has stopped is still set up.
  const works = isTested || kind === 'serving' || hasWorked(data);
  return (
    <section className="panel empty first-run" aria-labelledby="setup-title">
      <div className="row first-run-head">
        <div>
          <h2 id="setup-title">{works ? 'Point an app at it' : 'Connect your first model'}</h2>
          <p>
            {works
              ? `Your first model ${kind === 'stuck' ? 'has worked, but does not answer now' : 'works'}. This stays here until it has answered an app.`
              : 'One is enough. An engine is the program that runs a model: Ollama, LM Studio, llama.cpp, vLLM and others.'}
          </p>
        </div>
        {works && <FirstMessage isFocused={isTested} />}
      </div>
      {works ? (
        <ConnectApp />
      ) : (
        <Ways seats={{ ...seats, hasLocal: true }} onWorks={() => setTested(true)} />
      )}
    </section>
  );
}

/** Whether a machine has passed its test, or a source has answered. */
const hasWorked = ({ providers, status }: Pick<LiveData, 'providers' | 'status'>): boolean =>
  providers.verified > 0 || status.upstreams.some(({ circuit }) => circuit.lastSuccessAt !== null);

/** Whether an app, and not only the window, has been answered. Requests that left the feed are taken for an app's. */
export function hasAnsweredApp({ outcomes, requests }: Pick<LiveData, 'outcomes' | 'requests'>) {
  const { ended } = outcomes;
  const done = requests.filter(({ state }) => state === 'done');
  const isFromApp = (row: RequestRow) => !isFromBrowser(row);
  return ended['first-choice'] + ended['fell-back'] > done.length || done.some(isFromApp);
}

/** Where a page leads that has no requests yet. */
export function ToFirstPrompt() {
  const isBare = useWindow().data.judgement.verdict.kind === 'bare';
  return (
    <a href={isBare ? hashOf({ page: 'overview' }) : TRY_IT}>
      {isBare ? 'Connect a model' : 'Try a prompt'}
    </a>
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
