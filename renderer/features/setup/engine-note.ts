import type { AgentSeen } from '../../api/agent.ts';

/** What the search for engines on this machine has come to, and what to do next. */
export function engineNote(seen: AgentSeen | null): string {
  if (seen === null) return 'Looking for engines…';
  if (seen.kind === 'off') {
    return 'The agent of this machine is switched off, so nothing looks for engines here.';
  }
  const { engines, useEngineDirectly, record } = seen.view;
  if (engines.length === 0) {
    return 'No engine found yet. Start Ollama, LM Studio, llama.cpp or vLLM, and it appears here within seconds.';
  }
  if (useEngineDirectly !== null) {
    return 'No GPU was found beside it, so it does not join as a GPU machine. It serves Local all the same.';
  }
  return record.gpu.count > 0
    ? 'A GPU was found: once verified, this machine serves Local without any setting.'
    : '';
}
