import type { AgentProblem, AgentStanding, AgentView } from '#shared/agent.ts';
import { CHECK_MISSING, failuresIn } from '#shared/checks.ts';
import type { Check, Provider } from '#shared/provider.ts';
import { answer, type CommandOutcome, EXIT, type Input } from './command.ts';
import { testWord } from './lists.ts';
import { ask } from './running-app.ts';

/** How the gateway that this machine reports to has verified it, and the problems that its own agent knows. */
interface Diagnosis {
  readonly ok: boolean;
  /** The address of the gateway that this machine has joined; null for the gateway here. */
  readonly gateway: string | null;
  /** Null before the gateway has answered a heartbeat. */
  readonly verification: Verification | null;
  readonly problems: readonly AgentProblem[];
}

interface Verification {
  readonly status: string;
  /** Those that failed, if another gateway has made them: it sends no others. */
  readonly checks: readonly Check[];
}

export async function doctor({ dataDirectory }: Input): Promise<CommandOutcome> {
  const asked = await ask<AgentView>(dataDirectory, { method: 'GET', path: 'agent' });
  if (asked.kind === 'failed') return asked;
  const view = asked.body;
  const verification = await verificationOf(view, dataDirectory);
  const diagnosis: Diagnosis = {
    ok: verification?.status === 'verified' && view.registry.state === 'connected',
    gateway: view.registry.kind === 'joined' ? view.registry.url : null,
    verification,
    problems: [...engineProblems(view), ...view.problems],
  };
  return answer(diagnosis, textOf(diagnosis), diagnosis.ok ? EXIT.done : EXIT.failed);
}

async function verificationOf(
  { id, registry }: AgentView,
  dataDirectory: string,
): Promise<Verification | null> {
  if (registry.kind === 'own') {
    const call = { method: 'GET', path: `providers/${id}` } as const;
    const known = await ask<Provider>(dataDirectory, call);
    if (known.kind === 'answered') return known.body.verification;
  }
  return registry.standing === null ? null : withFailures(registry.standing);
}

function withFailures({ verification }: AgentStanding): Verification {
  const failures = failuresIn(verification.failure_reason);
  return {
    status: verification.status,
    checks: failures.map(({ name, error }) => ({ name, passed: false, error })),
  };
}

/** What keeps the engine from serving. The dashboard says the same in its headline of this machine. */
function engineProblems({ engine, useEngineDirectly }: AgentView): readonly AgentProblem[] {
  const problems: AgentProblem[] = [];
  const said = (tried: string, happened: string, remedy: string) =>
    problems.push({ tool: 'engine', tried, happened, remedy });
  if (engine === null)
    said('the usual ports', 'No engine was found.', 'Start one, or set agent.engineUrl.');
  else if (engine.health.status !== 'ok')
    said(engine.baseUrl, `It is ${engine.health.status}.`, REMEDIES[engine.health.status]);
  if (useEngineDirectly !== null) {
    const remedy = `Let Inglenook use it directly: inglenook set local.baseUrl ${useEngineDirectly}`;
    said(useEngineDirectly, 'This machine has no GPU, so no gateway uses it.', remedy);
  }
  return problems;
}

const REMEDIES = {
  loading: 'Wait until it has loaded its model.',
  unauthorized: 'Set agent.engineUrl to its address and agent.engineApiKey to its key.',
  error: 'Check its log.',
  unreachable: 'Start it, or correct agent.engineUrl.',
  unresponsive: 'It accepts connections but does not answer: restart it.',
} as const;

function textOf({ gateway, verification, problems }: Diagnosis): string {
  const who = gateway === null ? 'The gateway here' : `The gateway at ${gateway}`;
  return [
    `${who} says about this machine: ${verification === null ? 'nothing yet' : testWord(verification.status)}.`,
    ...(verification?.checks ?? []).map(checkLine),
    ...problems.flatMap(({ tool, tried, happened, remedy }) => [
      '',
      `${tool} (${tried}): ${happened}`,
      `  ${remedy}`,
    ]),
    ...(problems.length === 0 ? ['', 'The agent knows of no problem.'] : []),
  ].join('\n');
}

function checkLine(check: Check, _at: number, all: readonly Check[]): string {
  const { name, passed, latencyMs, detail, error } = check;
  const took = latencyMs === undefined ? '' : ` (${latencyMs} ms)`;
  const isRun = error !== CHECK_MISSING;
  // One address of several is enough.
  const isSpare = !isRun || all.some((other) => other.name === name && other.passed);
  const mark = passed ? '  ok  ' : isSpare ? '  --  ' : 'FAILED';
  const fault = isRun ? error : 'not run';
  return [`${mark} ${name}${took}`, detail, passed ? null : fault].filter(Boolean).join(': ');
}
