import { isObject } from '#shared/objects.ts';
import { listOf, memberOf } from '../../../platform/json.ts';
import { type Finish, endOf } from './finish.ts';

/**
 * Whether an answer without content is right all the same: a model has nothing to add after a tool's result, its
 * hidden reasoning has used up the limit, a filter has taken everything out.
 */
export interface EmptyAnswer {
  /** Takes a chunk, or a whole answer. */
  add(value: unknown): void;
  /** Whether it is known to be right before its end. */
  isRight(): boolean;
  /** Judged at the end. `unfinished`: it never said that it was finished. */
  verdict(followsToolResult: () => boolean): 'right' | 'wrong' | 'unfinished';
}

export function createEmptyAnswer(): EmptyAnswer {
  let finish: Finish | null = null;
  let tokens: number | null = null;

  function isRight(): boolean {
    if (finish === 'length' || finish === 'content_filter') return true;
    // A failure that is dressed as an answer has no tokens (BerriAI/litellm#38199).
    return finish === 'stop' && tokens !== null && tokens > 0;
  }

  return {
    add(value) {
      if (!isObject(value)) return;
      for (const choice of listOf(value['choices'])) {
        const end = endOf(memberOf(choice, 'finish_reason'));
        if (end !== null && end !== 'broken') finish = end;
      }
      const output = memberOf(value, 'usage', 'completion_tokens');
      if (typeof output === 'number') tokens = output;
    },
    isRight,
    verdict(followsToolResult) {
      if (finish === null) return 'unfinished';
      const isUntold = finish === 'stop' && tokens === null;
      return isRight() || (isUntold && followsToolResult()) ? 'right' : 'wrong';
    },
  };
}
