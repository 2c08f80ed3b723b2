/** Of a million tokens, in US dollars. */
export interface ListPrice {
  readonly input: number;
  readonly output: number;
  /** Of input that the service had in its cache; null if it has no price of its own. */
  readonly cached: number | null;
  /** Where it stood, and on which day (ISO 8601). */
  readonly source: string;
  readonly readOn: string;
}

type Row = readonly [input: number, output: number, cached?: number];

interface PriceList {
  readonly source: string;
  readonly readOn: string;
  readonly rows: Readonly<Record<string, Row>>;
}

/**
 * Commit f3fc692 of https://github.com/anomalyco/models.dev, whose contributors copy the services' price lists. Where a
 * longer prompt costs more, this is the price of a short one.
 */
const MODELS_DEV = { source: 'models.dev', readOn: '2026-07-02' };

/**
 * What the services listed, of models that people choose. A name that can come to mean another model (`-latest`) is left
 * out, and so are prices that a single number cannot say: DeepSeek's depend on the time of day, Claude Haiku 5.5's on
 * the length of the prompt, OpenRouter's on who answers.
 */
const LISTS: Readonly<Record<string, PriceList>> = {
  OpenAI: {
    ...MODELS_DEV,
    rows: {
      'gpt-5.5': [5, 30, 0.5],
      'gpt-5.4': [2.5, 15, 0.25],
      'gpt-5.4-mini': [0.75, 4.5, 0.075],
      'gpt-5.4-nano': [0.2, 1.25, 0.02],
      'gpt-5.2': [1.75, 14, 0.175],
      'gpt-5.1': [1.25, 10, 0.125],
      'gpt-5': [1.25, 10, 0.125],
      'gpt-5-mini': [0.25, 2, 0.025],
      'gpt-5-nano': [0.05, 0.4, 0.005],
      'gpt-4.1': [2, 8, 0.5],
      'gpt-4.1-mini': [0.4, 1.6, 0.1],
      'gpt-4.1-nano': [0.1, 0.4, 0.025],
      'gpt-4o': [2.5, 10, 1.25],
      'gpt-4o-2024-05-13': [5, 15],
      'gpt-4o-mini': [0.15, 0.6, 0.075],
      o3: [2, 8, 0.5],
      'o4-mini': [1.1, 4.4, 0.275],
    },
  },
  Anthropic: {
    // https://platform.claude.com/docs/en/about-claude/pricing, and what was read there on that day:
    // https://github.com/kurofune/claudit/releases/tag/v1.9.2
    source: 'platform.claude.com',
    readOn: '2026-10-24',
    rows: {
      'claude-fable-5-1': [10, 50, 0.25],
      'claude-fable-5': [10, 50, 1],
      'claude-opus-5': [5, 25, 0.5],
      'claude-opus-4-8': [5, 25, 0.5],
      'claude-opus-4-7': [5, 25, 0.5],
      'claude-opus-4-6': [5, 25, 0.5],
      'claude-opus-4-5': [5, 25, 0.5],
      'claude-sonnet-5-5': [2, 10, 0.1],
      'claude-sonnet-5': [2, 10, 0.2],
      'claude-sonnet-4-6': [3, 15, 0.3],
      'claude-sonnet-4-5': [3, 15, 0.3],
      'claude-haiku-4-5': [1, 5, 0.1],
    },
  },
  Groq: {
    ...MODELS_DEV,
    rows: {
      'llama-3.1-8b-instant': [0.05, 0.08],
      'llama-3.3-70b-versatile': [0.59, 0.79],
      'meta-llama/llama-4-scout-17b-16e-instruct': [0.11, 0.34],
      'openai/gpt-oss-120b': [0.15, 0.6, 0.075],
      'openai/gpt-oss-20b': [0.075, 0.3, 0.0375],
      'qwen/qwen3-32b': [0.29, 0.59],
    },
  },
  Together: {
    ...MODELS_DEV,
    rows: {
      'MiniMaxAI/MiniMax-M3': [0.3, 1.2, 0.06],
      'Qwen/Qwen3.5-397B-A17B': [0.6, 3.6],
      'deepseek-ai/DeepSeek-V4-Pro': [1.74, 3.48, 0.2],
      'google/gemma-4-31B-it': [0.39, 0.97],
      'meta-llama/Llama-3.3-70B-Instruct-Turbo': [0.88, 0.88],
      'moonshotai/Kimi-K2.6': [1.2, 4.5, 0.2],
      'openai/gpt-oss-120b': [0.15, 0.6],
      'openai/gpt-oss-20b': [0.05, 0.2],
      'zai-org/GLM-5.2': [1.4, 4.4, 0.26],
    },
  },
  Mistral: {
    ...MODELS_DEV,
    rows: {
      'devstral-2512': [0.4, 2],
      'mistral-large-2512': [0.5, 1.5],
      'mistral-medium-2604': [1.5, 7.5],
      'mistral-medium-2508': [0.4, 2],
      'mistral-small-2603': [0.15, 0.6],
      'mistral-small-2506': [0.1, 0.3],
    },
  },
};

/** `gpt-4o-2024-08-06` and `claude-haiku-4-5-20251001` are versions of `gpt-4o` and `claude-haiku-4-5`. */
const VERSION = /-(?:\d{4}-\d{2}-\d{2}|\d{8})$/;

/** Null if it is not known here. */
export function listPriceOf(service: string, model: string): ListPrice | null {
  if (!Object.hasOwn(LISTS, service)) return null;
  const { rows = {}, source = '', readOn = '' } = LISTS[service] ?? {};
  const name = [model, model.replace(VERSION, '')].find((each) => Object.hasOwn(rows, each));
  const [input, output, cached = null] = (name === undefined ? undefined : rows[name]) ?? [];
  if (input === undefined || output === undefined) return null;
  return { input, output, cached, source, readOn };
}

/** For the tests: every service and model with a price. */
export const LISTED = Object.entries(LISTS).flatMap(([service, { rows }]) =>
  Object.keys(rows).map((model) => ({ service, model })),
);
