import type { FieldReader } from './findings.ts';

/** Sampling, under the names that chat completions share, engines' extensions included. */
export const PASSED_FIELDS: readonly string[] = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'seed',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'logit_bias',
  'chat_template_kwargs',
];

export function passedFields(reader: FieldReader): Record<string, unknown> {
  const present = PASSED_FIELDS.filter((key) => reader.has(key));
  return Object.fromEntries(present.map((key) => [key, reader.get(key)]));
}
