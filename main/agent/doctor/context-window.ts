import type { EngineKind, EngineView } from '../../engines/adapters/engine-view.ts';
import { isForChat } from '../../engines/preference.ts';

/** Claude Code and its like begin with 15,000 to 20,000 tokens of prompt and tools (docs.ollama.com/context-length asks for 64,000). */
const ENOUGH_TOKENS = 32_000;

/** How the owner of an engine gives it a larger window. */
const REMEDIES: Partial<Record<EngineKind, readonly [name: string, remedy: string]>> = {
  ollama: ['Ollama', 'set OLLAMA_CONTEXT_LENGTH'],
  'llama.cpp': ['llama.cpp', 'start it with a larger --ctx-size, or fewer --parallel'],
  lmstudio: ['LM Studio', 'load the model with a longer context length'],
  vllm: ['vLLM', 'start it with a larger --max-model-len'],
};

const NUMBER = new Intl.NumberFormat('en');

/** A model of which a gateway has seen that its engine reads only so much of longer prompts. */
export interface WindowCut {
  readonly model: string;
  readonly tokens: number;
}

/** What to do about a window that is too small for coding agents; null if it is large enough, or unknown. */
export function windowRemedy(
  { kind, facts }: EngineView,
  cuts: readonly WindowCut[] = [],
): string | null {
  const caught = cuts.map(
    ({ model, tokens }) =>
      `Prompts for ${model} were cut to ${NUMBER.format(tokens)} tokens without an error: give it a larger context window.`,
  );
  const said = [tooSmall({ kind, facts }), ...caught].filter((each) => each !== null);
  return said.length === 0 ? null : said.join(' ');
}

function tooSmall({ kind, facts }: Pick<EngineView, 'kind' | 'facts'>): string | null {
  const [name, remedy] = REMEDIES[kind] ?? [];
  const lengths = facts
    .filter((model) => model.loaded === true && isForChat(model))
    .flatMap(({ context_length: length }) => length ?? []);
  const smallest = Math.min(...lengths);
  if (name === undefined || smallest >= ENOUGH_TOKENS) return null;
  return `${name} serves ${NUMBER.format(smallest)} tokens; coding agents need ${NUMBER.format(ENOUGH_TOKENS)} or more: ${remedy}.`;
}
