import { useState } from 'react';
import type { UpstreamId } from '#shared/ids.ts';
import type { Control } from '../../api/control.ts';
import type { TestState } from './test-text.ts';

interface Testing {
  /** Null before the first test. */
  readonly state: TestState | null;
  /** Resolves with true if the upstream has answered. */
  readonly run: () => Promise<boolean>;
  readonly clear: () => void;
}

export function useTest(id: UpstreamId, { testUpstream }: Pick<Control, 'testUpstream'>): Testing {
  const [state, setState] = useState<TestState | null>(null);
  return {
    state,
    async run() {
      setState({ kind: 'running' });
      const answer = await testUpstream(id);
      setState(
        answer.ok
          ? { kind: 'ended', result: answer.value }
          : { kind: 'refused', message: answer.refusal.message },
      );
      return answer.ok && answer.value.ok;
    },
    clear: () => setState(null),
  };
}
