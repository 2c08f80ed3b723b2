import { isObject } from '#shared/objects.ts';
import { listOf } from '../../../platform/json.ts';
import type { Assembly } from '../assembly.ts';
import { writeJson } from '../completion.ts';

type Json = Record<string, unknown>;

/** Builds a text completion with one choice; of every field beside its text the last value counts. */
export function createTextAssembly(): Assembly {
  const top: Json = {};
  const choice: Json = { index: 0, logprobs: null };
  let text = '';
  let finishReason: unknown = null;

  function addChoice(part: unknown): void {
    if (!isObject(part)) return;
    const { text: more, finish_reason: reason, index: _index, ...others } = part;
    if (typeof more === 'string') text += more;
    finishReason = reason ?? finishReason;
    Object.assign(choice, others);
  }

  return {
    add(chunk) {
      if (!isObject(chunk)) return;
      const { choices, usage, ...rest } = chunk;
      Object.assign(top, rest);
      // `usage: null` on other chunks must not erase the value.
      if (isObject(usage)) top['usage'] = usage;
      for (const part of listOf(choices)) addChoice(part);
    },
    finished: () => finishReason !== null,
    problem: () => null,
    result() {
      const choices = [{ ...choice, text, finish_reason: finishReason }];
      const json = writeJson({ ...top, object: 'text_completion', choices });
      return json === null ? null : Buffer.from(json);
    },
  };
}
