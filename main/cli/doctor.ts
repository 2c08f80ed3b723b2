import type { AgentProblem, AgentView } from '#shared/agent.ts';
import { CHECK_MISSING, failuresIn } from '#shared/checks.ts';
import { troubleIn } from '#shared/condition.ts';
import type { LiveSnapshot } from '#shared/live.ts';
import type { Check, Provider } from '#shared/provider.ts';
import { budgetFault } from '#shared/services.ts';
import { OWN_COMMAND } from '../platform/process.ts';
import { answer, type CommandOutcome, EXIT, type Input } from './command.ts';
import { stateWord } from './lists.ts';
import { ask } from './running-app.ts';

/** What serves the requests for this machine's GPUs, or how its gateway has verified it, and what its agent knows. */
interface Diagnosis {
  readonly ok: boolean;
  /** The address of the gateway that this machine has joined; null for the gateway here. */
  readonly gateway: string | null;
  /** The engine at `local.baseUrl`, whose trouble is null while it serves; null where machines that have joined do. */
  readonly fixedEngine: { readonly url: string; readonly trouble: string | null } | null;
  /** Null before the gateway has answered a heartbeat. */
  readonly verification: Verification | null;
  readonly problems: readonly AgentProblem[];
}

/** Of another gateway, which sends no others, the checks that failed. */
type Verification = Pick<Provider['verification'], 'checks'> & { readonly status: string };

export async function doctor({ dataDirectory }: Input): Promise<CommandOutcome> {
  const asked = await ask<AgentView>(dataDirectory, { method: 'GET', path: 'agent' });
  const isJoined = asked.kind === 'answered' && asked.body.registry.kind === 'joined';
  const { fixedEngine, budgets } = isJoined ? ELSEWHERE : await gatewayHere(dataDirectory);
  if (fixedEngine !== null) {
    const ofAgent = asked.kind === 'answered' ? asked.body.problems : [noAgent(asked.message)];
    const problems = [...budgets, ...ofAgent];
    const ok = fixedEngine.trouble === null;
    return outcomeOf({ ok, gateway: null, fixedEngine, verification: null, problems });
  }
  if (asked.kind === 'failed') return asked;
  const view = asked.body;
  const verification = await verificationOf(view, dataDirectory);
  return outcomeOf({
    ok: verification?.status === 'verified' && view.registry.state === 'connected',
    gateway: isJoined ? view.registry.url : null,
    fixedEngine,
    verification,
    problems: [...budgets, ...engineProblems(view), ...view.problems],
  });
}

const outcomeOf = (diagnosis: Diagnosis) =>
  answer(diagnosis, textOf(diagnosis), { exitCode: diagnosis.ok ? EXIT.done : EXIT.failed });

const noAgent = (happened: string): AgentProblem => {
  return { tool: 'agent', tried: 'asking it', happened, remedy: 'That engine does not need it.' };
};

const ELSEWHERE = { fixedEngine: null, budgets: [] };

/** What the gateway here uses in place of machines, and its budgets that are never used up. */
async function gatewayHere(dataDirectory: string) {
  const asked = await ask<LiveSnapshot>(dataDirectory, { method: 'GET', path: 'snapshot' });
  if (asked.kind === 'failed') return ELSEWHERE;
  const { status, judgement } = asked.body;
  const url = status.upstreams.find(({ id }) => id === 'local')?.baseUrl ?? null;
  const budgets = status.upstreams.flatMap((upstream): readonly AgentProblem[] => {
    const fault = budgetFault(upstream);
    return fault === null ? [] : [{ tool: 'budget', tried: upstream.id, ...fault }];
  });
  const trouble = url === null ? null : troubleIn(judgement.conditions.local);
  return { fixedEngine: url === null ? null : { url, trouble }, budgets };
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
  if (registry.standing === null) return null;
  const { status, failure_reason: failures } = registry.standing.verification;
  return { status, checks: failuresIn(failures).map((each) => ({ ...each, passed: false })) };
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
    const remedy = `Let Inglenook use it directly: ${OWN_COMMAND} set local.baseUrl ${useEngineDirectly}`;
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

function textOf({ gateway, fixedEngine, verification, problems }: Diagnosis): string {
  const who = gateway === null ? 'The gateway here' : `The gateway at ${gateway}`;
  const finding =
    fixedEngine === null
      ? `says about this machine: ${verification === null ? 'nothing yet' : stateWord(verification.status)}`
      : `sends requests to the engine at ${fixedEngine.url} (local.baseUrl), which ${fixedEngine.trouble ?? 'serves'}`;
  return [
    `${who} ${finding}.`,
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
