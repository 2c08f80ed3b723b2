import { HOSTED_IDS, type UpstreamId } from './ids.ts';
import type { UpstreamReport } from './status.ts';

/** Services of which the address and the page that creates keys are known. */
export const SERVICES = [
  ['OpenAI', 'https://api.openai.com/v1', 'platform.openai.com/api-keys'],
  ['Anthropic', 'https://api.anthropic.com/v1', 'console.anthropic.com/settings/keys'],
  ['Groq', 'https://api.groq.com/openai/v1', 'console.groq.com/keys'],
  ['Together', 'https://api.together.xyz/v1', 'api.together.ai/settings/api-keys'],
  ['OpenRouter', 'https://openrouter.ai/api/v1', 'openrouter.ai/settings/keys'],
  ['Mistral', 'https://api.mistral.ai/v1', 'console.mistral.ai/api-keys'],
  ['DeepSeek', 'https://api.deepseek.com/v1', 'platform.deepseek.com/api_keys'],
] as const;

const YOUR_GPUS = 'Your GPUs';

/** What an upstream is called whose owner has not named it: a hosted one by its service, or its address. */
export function defaultLabel(id: UpstreamId, baseUrl: string | null): string {
  if (id === 'local') return YOUR_GPUS;
  if (id === 'ondemand') return 'Rented GPU';
  const host = hostOf(baseUrl ?? '');
  if (host === null) return `Fallback ${HOSTED_IDS.indexOf(id) + 1}`;
  return SERVICES.find(([, known]) => hostOf(known) === host)?.[0] ?? host;
}

const hostOf = (url: string): string | null =>
  /^https?:\/\/(?:[^/@]*@)?([^/?#]+)/i.exec(url)?.[1]?.toLowerCase() ?? null;

/** What stands before a model's name to choose the upstream, as in `openai/gpt-5-mini`. */
export const prefixOf = (label: string): string =>
  label
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}.:_-]+/gu, '-')
    .replaceAll(/^-|-$/g, '');

/** What is said of a budget that can never be used up; null of any other. */
export function budgetFault({ id, label, budget }: UpstreamReport) {
  if (budget?.unpriced !== true || budget.limit === 0) return null;
  return {
    happened: `${label} has no price, so its requests count as 0 and never use up its budget.`,
    remedy: `Set ${id}.priceInput and ${id}.priceOutput.`,
  };
}

const PLURALS: Readonly<Record<string, string>> = {
  is: 'are',
  was: 'were',
  has: 'have',
  does: 'do',
  keeps: 'keep',
  rejects: 'reject',
  gives: 'give',
  lacks: 'lack',
  fails: 'fail',
  answers: 'answer',
};

/** `Groq is down`, `Your GPUs are down`: the first word of `predicate` is its verb. */
export function clause(name: string, predicate: string): string {
  const [verb = '', ...rest] = predicate.split(' ');
  const fitting = name === YOUR_GPUS ? (PLURALS[verb] ?? verb) : verb;
  return [name, fitting, ...rest].join(' ');
}

/** What begins with a name, within a sentence: `Serving from your GPUs`. */
export const inSentence = (text: string): string =>
  text.startsWith(YOUR_GPUS) ? `y${text.slice(1)}` : text;
