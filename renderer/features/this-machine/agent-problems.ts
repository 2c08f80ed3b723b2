import type { AgentProblem, AgentView } from '#shared/agent.ts';

export interface AgentProblems {
  /** The agent's own: its ports, its gateway, its files. They keep requests away. */
  readonly own: readonly AgentProblem[];
  /** Those of drivers and their tools: the machine may serve all the same. */
  readonly tools: readonly AgentProblem[];
}

const OWN_PARTS = new Set(['agent', 'registry', 'engine', 'clock', 'files of the agent']);

/** Sorts what the agent has to say. */
export function agentProblems({ problems }: Pick<AgentView, 'problems'>): AgentProblems {
  const isOwn = ({ tool }: AgentProblem): boolean => OWN_PARTS.has(tool);
  return {
    own: problems.filter(isOwn),
    tools: problems.filter((problem) => !isOwn(problem)),
  };
}

/** A remark as a sentence: a capital first, a full stop last. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  const whole = /[.!?…]$/.test(trimmed) || trimmed === '' ? trimmed : `${trimmed}.`;
  return whole.charAt(0).toUpperCase() + whole.slice(1);
}
