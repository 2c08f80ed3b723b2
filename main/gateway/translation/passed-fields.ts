import type { FieldReader } from './findings.ts';

/** Sampling parameters, including engines' extensions. */
const SAMPLING: readonly string[] = [
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

/** Fields that both protocols name as chat completions do. */
export const PASSED_FIELDS: readonly string[] = ['model', 'stream', ...SAMPLING];

export function passedFields(reader: FieldReader): Record<string, unknown> {
  const present = SAMPLING.filter((key) => reader.has(key));
  return {
    ...(reader.has('model') && { model: reader.text('model') }),
    ...Object.fromEntries(present.map((key) => [key, reader.get(key)])),
    ...(reader.flag('stream') === true && {
      stream: true,
      stream_options: { include_usage: true },
    }),
  };
}
