import { expect } from 'vitest';
import type { TranslationResult } from '../../../../main/gateway/protocols/translation/translation.ts';

/** A refusal to translate, in words that begin with the field. */
export const unsupported = (field: string) => ({
  kind: 'unsupported',
  param: field,
  message: expect.stringContaining(`'${field}': `),
});

/** The chat body of a translation, as it is sent. */
export function sentBody(translated: TranslationResult): Record<string, unknown> {
  if (translated.kind !== 'chat') throw new Error(translated.message);
  return JSON.parse(JSON.stringify(translated.body)) as Record<string, unknown>;
}
