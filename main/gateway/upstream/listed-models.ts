import { isoMs } from '../../platform/clock.ts';
import { isObject, parseJson } from '../../platform/json.ts';

/** A model as an upstream or an engine lists it; null for what it does not say. */
export interface ListedModel {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number | null;
  readonly owner: string | null;
  /** In tokens. */
  readonly contextLength: number | null;
}

/** The largest catalogues list a few hundred. */
const MAX_MODELS = 5000;
const MODEL_ID = /^[^\p{Cc}\p{Zl}\p{Zp}]{1,200}$/u;

/** Null if the body is not a list of models. */
export function parseModelList(body: Buffer): readonly ListedModel[] | null {
  const list = parseJson(body.toString('utf8'));
  const data: unknown = isObject(list) ? list['data'] : list;
  if (!Array.isArray(data)) return null;
  return (data as unknown[]).slice(0, MAX_MODELS).filter(isObject).flatMap(listedModel);
}

/** Names of the context length: OpenRouter and Together, Groq, vLLM, LM Studio and Mistral, Anthropic. */
const LENGTHS = [
  'context_length',
  'context_window',
  'max_model_len',
  'max_context_length',
  'max_input_tokens',
];

function listedModel(entry: Readonly<Record<string, unknown>>): readonly ListedModel[] {
  const { id, created, created_at: createdAt } = entry;
  // Together's name for it.
  const owner = entry['owned_by'] ?? entry['organization'];
  if (typeof id !== 'string' || !MODEL_ID.test(id)) return [];
  const lengths = LENGTHS.map((name) => entry[name]);
  const at = typeof createdAt === 'string' ? Math.floor(isoMs(createdAt) / 1000) : created;
  return [
    {
      id,
      created: isSeconds(at) ? at : null,
      owner: typeof owner === 'string' && MODEL_ID.test(owner) ? owner : null,
      contextLength: lengths.find(isLength) ?? null,
    },
  ];
}

/** The last second of the year 9999; a host that counts in milliseconds lists more. */
const MAX_SECONDS = 253_402_300_799;

const isSeconds = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_SECONDS;

const isLength = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) > 0;
