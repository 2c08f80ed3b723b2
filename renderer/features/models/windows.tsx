import { useState } from 'react';
import type { WindowReport } from '#shared/status.ts';
import { formatCount } from '../../text/format.ts';
import { ControlButton } from '../../ui/buttons.tsx';
import { ErrorText } from '../../ui/fields.tsx';
import { useAttempt } from '../../ui/use-optimistic-value.ts';
import { useWindow } from '../../window-context.ts';

/** The own models whose window was too small for a prompt, each with what makes it larger. */
export function SmallWindows() {
  const { windows } = useWindow().data.status.local;
  return windows
    .filter(({ remedy }) => remedy.kind !== 'made')
    .map((report) => (
      <p className="notice" key={report.model}>
        <strong>{`${report.model} reads only ${formatCount(report.tokens)} tokens, so longer prompts never reach it.`}</strong>{' '}
        <Remedy report={report} />
      </p>
    ));
}

/** The copies with a larger window, each with a button that removes it. */
export function LargeCopies() {
  const { windows } = useWindow().data.status.local;
  return windows
    .filter(({ remedy }) => remedy.kind === 'made')
    .map((report) => (
      <p className="panel-text" key={report.model}>
        <Remedy report={report} />
      </p>
    ));
}

function Remedy({ report: { model, tokens, remedy } }: { readonly report: WindowReport }) {
  const { makeCopy, removeCopy } = useWindow().actions;
  switch (remedy.kind) {
    case 'setting':
      return remedy.text;
    case 'copy':
      return (
        <>
          A copy with a larger window shares its file.{' '}
          <Doing what={() => makeCopy(model)}>
            {`Make a ${kiloOf(remedy.tokens)} copy${remedy.isMost ? ', the most it can read' : ''}`}
          </Doing>
        </>
      );
    case 'made':
      return (
        <>
          {`Requests for ${model} go to ${remedy.copy}, its copy that reads ${formatCount(tokens)} tokens. `}
          <Doing what={() => removeCopy(remedy.copy)}>Remove the copy</Doing>
        </>
      );
  }
}

const kiloOf = (tokens: number) => `${Math.floor(tokens / 1024)}k`;

interface DoingProps {
  readonly what: () => ReturnType<ReturnType<typeof useWindow>['actions']['makeCopy']>;
  readonly children: string;
}

/** A button that cannot be pressed again until its work is done. */
function Doing({ what, children }: DoingProps) {
  const { error, attempt } = useAttempt();
  const [isBusy, setBusy] = useState(false);
  const press = async (): Promise<void> => {
    setBusy(true);
    await attempt(what());
    setBusy(false);
  };
  return (
    <>
      <ControlButton
        className="button remedy"
        aria-disabled={isBusy}
        onClick={() => void (isBusy || press())}
      >
        {children}
      </ControlButton>
      <ErrorText text={error} />
    </>
  );
}
