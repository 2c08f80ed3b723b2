import type { AgentProblem, AgentView } from '#shared/agent.ts';
import { agentProblems, sentence } from './agent-problems.ts';
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
