import { createHash } from 'node:crypto';
import { fieldNames, type FieldReader } from './findings.ts';

/** Sampling parameters, including engines' extensions. */
const SAMPLING: readonly string[] = [
  ...fieldNames('temperature top_p top_k min_p seed frequency_penalty presence_penalty'),
  ...fieldNames('repetition_penalty logit_bias chat_template_kwargs'),
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

const EFFORTS = fieldNames('none minimal low medium high xhigh max');

/** How hard the model should think. A newer word is left out, as engines refuse one that they do not know. */
export const readEffort = (reader: FieldReader): string | undefined =>
  reader.oneOf('effort', EFFORTS);

/** OpenAI answers 400, `string_above_max_length`, to a longer one; Claude Code's has some 180 characters. */
const MAX_USER_CHARS = 64;

/** Whom the caller asks for. A digest is the same for the same user, and tells providers no more than they need. */
export function userField(id: string | undefined): { readonly user?: string } {
  if (id === undefined) return {};
  const isShort = id.length <= MAX_USER_CHARS;
  return { user: isShort ? id : createHash('sha256').update(id).digest('hex') };
}
