import type { AgentProblem, AgentView } from '#shared/agent.ts';

export interface AgentProblems {
  /** Problems of the agent's ports, gateway, engine, clock or files, which prevent requests. */
  readonly own: readonly AgentProblem[];
  /** Problems of drivers and their tools; the machine may serve anyway. */
  readonly tools: readonly AgentProblem[];
}

const OWN_PARTS = new Set(['agent', 'registry', 'engine', 'clock', 'files of the agent']);

/** Separates the agent's own problems from those of tools. */
export function agentProblems({ problems }: Pick<AgentView, 'problems'>): AgentProblems {
  const isOwn = ({ tool }: AgentProblem): boolean => OWN_PARTS.has(tool);
  return {
    own: problems.filter(isOwn),
    tools: problems.filter((problem) => !isOwn(problem)),
  };
}

/** Makes a phrase a sentence: capital letter, full stop. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  const whole = /[.!?…]$/.test(trimmed) || trimmed === '' ? trimmed : `${trimmed}.`;
  return whole.charAt(0).toUpperCase() + whole.slice(1);
}
