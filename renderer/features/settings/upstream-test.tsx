import type { UpstreamId } from '#shared/ids.ts';
import type { Control } from '../../api/control.ts';
import { costHint } from '../setup/test-button.tsx';
import { TestResult } from '../setup/test-result.tsx';
import { useTest } from '../setup/use-test.ts';
import type { Drafts } from './draft.ts';
import type { Section } from './field.ts';
import { t } from '../../text/t.ts';

interface UpstreamTesting {
  readonly run: () => Promise<boolean>;
  readonly state: ReturnType<typeof useTest>['state'];
}

/** The test of a section's upstream; unused in other sections. */
export function useUpstreamTest(
  { upstream }: Section,
  actions: Pick<Control, 'testUpstream'>,
): UpstreamTesting {
  return useTest(upstream ?? 'local', actions);
}

const TESTED_KEYS: readonly string[] = ['baseUrl', 'apiKey', 'model', 'headers'];

/** Whether a test follows saving: only if it concerns the calls, and not if it would start a GPU. */
export function isTestedOnSave({ id, upstream }: Section, drafts: Drafts): boolean {
  if (upstream === null || upstream === 'ondemand') return false;
  return TESTED_KEYS.some((key) => drafts[`${id}.${key}`] !== undefined);
}

interface UpstreamTestProps {
  readonly id: UpstreamId;
  readonly control: boolean;
  /** True while input is unsaved: a test would use the saved values. */
  readonly dirty: boolean;
  readonly testing: UpstreamTesting;
}

/** The end of an upstream's section: tests what is saved. */
export function UpstreamTestBar({ id, control, dirty, testing }: UpstreamTestProps) {
  const isIdle = control && !dirty && testing.state?.kind !== 'running';
  return (
    <div className="section-test">
      <button
        type="button"
        className="button"
        disabled={!isIdle}
        onClick={() => void testing.run()}
      >
        {t.settings.test}
      </button>
      {testing.state === null ? (
        <p className="quiet">{costHint(id)}</p>
      ) : (
        <TestResult state={testing.state} />
      )}
    </div>
  );
}
