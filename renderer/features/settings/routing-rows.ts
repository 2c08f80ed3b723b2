import type { Choice, Row } from './field.ts';

/** Whom a begun or a slow answer may cost twice. */
export const TWICE_ROWS: readonly Row[] = [
  {
    key: 'hedge',
    kind: 'choice',
    label: 'Ask another beside a slow one',
    hint: '',
    env: 'HEDGE',
    fallback: 'own',
    choices: [
      {
        value: 'own',
        label: 'among its own kind',
        hint: 'Own machines for an own one, paid for paid: then both calls are paid.',
      },
      {
        value: 'all',
        label: 'whoever is next',
        hint: 'Paid ones for an own machine too: the prompt leaves the house, and every call is paid.',
      },
      { value: 'off', label: 'never', hint: 'A slow one is waited for until its time-out.' },
    ],
  },
  {
    key: 'hedgeMs',
    kind: 'milliseconds',
    label: 'Another is asked after',
    hint: 'So long without a first token. Empty: “Slow from” of the breakers.',
    env: 'HEDGE_MS',
    fallback: null,
  },
  {
    key: 'hedgeBudget',
    kind: 'percent',
    label: 'Asked twice at most',
    hint: 'Of the last 200 requests, and always “Slow answers in a row” of them. 0: never.',
    env: 'HEDGE_BUDGET',
    fallback: 5,
  },
  {
    key: 'resume',
    kind: 'choice',
    label: 'Carry on an answer that broke off',
    hint: '',
    env: 'RESUME',
    fallback: 'same-model',
    choices: [
      {
        value: 'same-model',
        label: 'with the same model',
        hint: 'Whoever has it goes on from what came. The prompt is paid there once more.',
      },
      {
        value: 'any',
        label: 'with any model',
        hint: 'The answer may change its style midway. The prompt is paid there once more.',
      },
      {
        value: 'off',
        label: 'never',
        hint: 'It ends with an error, and the app has to ask again.',
      },
    ],
  },
];

const PREFILLS: readonly Choice[] = [
  {
    value: 'auto',
    label: 'as it is known to',
    hint: 'By its address or the names in its list of models; who is not known is not asked.',
  },
  {
    value: 'none',
    label: 'no',
    hint: 'It is not asked to carry an answer on, unless the same question must give the same text.',
  },
  {
    value: 'last-message',
    label: 'from a last assistant message',
    hint: 'llama.cpp, Ollama, LMDeploy, Groq, Claude up to 4.5, OpenRouter where the model can.',
  },
  {
    value: 'continue_final_message',
    label: 'with continue_final_message',
    hint: 'vLLM, SGLang, and llama.cpp of late.',
  },
  {
    value: 'prefix',
    label: 'with prefix',
    hint: 'Mistral, and DeepSeek behind its address /beta.',
  },
];

/** How an upstream can be asked to go on; `LOCAL_` or what its variables begin with stands before. */
export const PREFILL_ROW = {
  key: 'prefill',
  kind: 'choice',
  label: 'Goes on from a begun answer',
  hint: '',
  env: 'PREFILL',
  fallback: 'auto',
  choices: PREFILLS,
} as const satisfies Row;
