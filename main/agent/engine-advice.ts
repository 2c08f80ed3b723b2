import type { AgentProblem } from '#shared/agent.ts';
import type { EngineKind, EngineView } from '../engines/adapters/engine-view.ts';
import { isForChat } from '../engines/models.ts';

/** A model of which a gateway has seen that its engine reads only so much of longer prompts. */
export interface WindowCut {
  /** Empty for all but those that answered most, and where an upstream chose it. */
  readonly model: string;
  readonly tokens: number;
}

/** Claude Code and its like begin with 15,000 to 20,000 tokens of prompt and tools (docs.ollama.com/context-length asks for 64,000). */
const ENOUGH_TOKENS = 32_000;

/** How the owner of an engine gives it a larger window. */
const LARGER_WINDOW: Partial<Record<EngineKind, readonly [name: string, remedy: string]>> = {
  ollama: ['Ollama', 'Set OLLAMA_CONTEXT_LENGTH.'],
  'llama.cpp': ['llama.cpp', 'Start it with a larger --ctx-size, or fewer --parallel.'],
  lmstudio: ['LM Studio', 'Load the model with a longer context length.'],
  vllm: ['vLLM', 'Start it with a larger --max-model-len.'],
};

const NUMBER = new Intl.NumberFormat('en');

/** What an engine that serves could do better, and does not say itself. */
export function engineAdvice(
  { kind, baseUrl, facts }: Pick<EngineView, 'kind' | 'baseUrl' | 'facts'>,
  cuts: readonly WindowCut[],
): readonly AgentProblem[] {
  const loaded = facts.filter((model) => model.loaded === true);
  const [name = kind, larger] = LARGER_WINDOW[kind] ?? [];
  const advice: AgentProblem[] = cuts.map(({ model, tokens }) => ({
    tool: name,
    tried: `prompts for ${model}`,
    happened: `they were cut to ${NUMBER.format(tokens)} tokens without an error`,
    remedy: larger ?? 'Give it a larger context window.',
  }));
  const windows = loaded.filter(isForChat).flatMap((model) => model.context_length ?? []);
  const smallest = Math.min(...windows);
  if (larger !== undefined && smallest < ENOUGH_TOKENS) {
    const happened = `it serves ${NUMBER.format(smallest)} tokens; coding agents need ${NUMBER.format(ENOUGH_TOKENS)} or more`;
    advice.push({ tool: name, tried: baseUrl, happened, remedy: larger });
  }
  for (const { id } of loaded.filter((model) => model.vram_bytes === 0)) {
    // Most often it is after a sleep (ollama/ollama#5464, #10053).
    advice.push({
      tool: name,
      tried: baseUrl,
      happened: `it runs ${id} on the processor, not on the GPU`,
      remedy:
        'Restart it. If the machine has slept, on NVIDIA and Linux first run: sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm.',
    });
  }
  return advice;
}
