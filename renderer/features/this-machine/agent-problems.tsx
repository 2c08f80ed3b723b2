import type { AgentProblem, AgentView } from '#shared/agent.ts';
import { t } from '../../text/t.ts';

/** The agent's own problems, which prevent requests. */
export function OwnProblems({ view }: { readonly view: AgentView }) {
  return <Problems problems={agentProblems(view).own} />;
}

export function ToolProblems({ view }: { readonly view: AgentView }) {
  const { tools } = agentProblems(view);
  if (tools.length === 0) return null;
  return (
    <details className="agent-tools">
      <summary>{t.thisMachine.problems.tools(tools.length)}</summary>
      <Problems problems={tools} />
    </details>
  );
}

function Problems({ problems }: { readonly problems: readonly AgentProblem[] }) {
  if (problems.length === 0) return null;
  return (
    <ul className="agent-problems">
      {problems.map(({ tool, tried, happened, remedy }) => (
        <li key={`${tool} ${tried} ${happened}`}>
          <strong>{sentence(happened)}</strong> {sentence(remedy)}
          <span className="agent-tried">{t.thisMachine.problems.tried(tool, tried)}</span>
        </li>
      ))}
    </ul>
  );
}

const OWN_PARTS = new Set(['agent', 'registry', 'engine', 'clock', 'files of the agent']);

/**
 * Separates the problems of the agent's own parts, which prevent requests, from those of drivers and their tools, with
 * which the machine may serve.
 */
export function agentProblems({ problems }: Pick<AgentView, 'problems'>) {
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
