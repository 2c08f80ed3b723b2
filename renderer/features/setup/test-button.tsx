import type { UpstreamId } from '#shared/ids.ts';
import type { Control } from '../../api/control.ts';
import { ControlButton } from '../../ui/read-only-note.tsx';
import { TestResult } from './test-result.tsx';
import { useTest } from './use-test.ts';
import { t } from '../../text/t.ts';

interface TestButtonProps {
  readonly id: UpstreamId;
  readonly label: string;
  readonly control: boolean;
  readonly actions: Pick<Control, 'testUpstream'>;
}

/** Makes one real call to the upstream and shows the result. */
export function TestButton({ id, label, control, actions }: TestButtonProps) {
  const { state, run } = useTest(id, actions);
  return (
    <>
      <ControlButton
        control={control}
        title={costHint(id)}
        aria-disabled={state?.kind === 'running' || undefined}
        onClick={() => void (state?.kind !== 'running' && run())}
      >
        {t.setup.test.test(label)}
      </ControlButton>
      <TestResult state={state} isBrief />
    </>
  );
}

/** What a test of the upstream does and costs. */
export function costHint(id: UpstreamId): string {
  const { costs } = t.setup.test;
  return id === 'local' || id === 'ondemand' ? costs[id] : costs.hosted;
}
