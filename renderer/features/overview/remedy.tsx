import type { UpstreamId } from '#shared/ids.ts';
import { hashOf } from '../../route.ts';
import { t } from '../../text/t.ts';
import { ControlButton } from '../../ui/button.tsx';
import { costHint, TestResult, useTest } from '../setup/upstream-test.tsx';

/** What ends a problem, or shows where to end it. */
export type Remedy =
  | { readonly kind: 'settings'; readonly section: string; readonly word: string }
  | { readonly kind: 'machines' }
  /** Calls the upstream once: if it answers, requests go to it again. */
  | { readonly kind: 'check'; readonly id: UpstreamId; readonly label: string };

const words = t.overview.remedies;

export function RemedyButton({ remedy }: { readonly remedy: Remedy }) {
  switch (remedy.kind) {
    case 'settings':
      return (
        <Link hash={hashOf({ page: 'settings', section: remedy.section })} text={remedy.word} />
      );
    case 'machines':
      return <Link hash={hashOf({ page: 'providers', filter: 'all' })} text={words.machines} />;
    case 'check':
      return <CheckButton id={remedy.id} label={remedy.label} />;
  }
}

function Link({ hash, text }: { readonly hash: string; readonly text: string }) {
  return (
    <a className="button remedy" href={hash}>
      {text}
    </a>
  );
}

function CheckButton({ id, label }: { readonly id: UpstreamId; readonly label: string }) {
  const { state, run } = useTest(id);
  const isRunning = state?.kind === 'running';
  return (
    <>
      <ControlButton
        className="button remedy"
        title={costHint(id)}
        aria-disabled={isRunning || undefined}
        onClick={() => void (!isRunning && run())}
      >
        {words.check}
        <span className="unseen"> {label}</span>
      </ControlButton>{' '}
      <TestResult state={state} isBrief />
    </>
  );
}
