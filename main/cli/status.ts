import { type Condition, type Judgement, troubleIn, verdictText } from '#shared/condition.ts';
import type { AgentView } from '#shared/agent.ts';
import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { LiveSnapshot } from '#shared/live.ts';
import type { StatusReport, UpstreamReport } from '#shared/status.ts';
import { answer, type CommandOutcome, EXIT, type Input } from './command.ts';
import { stateLine } from './owner-commands.ts';
import { ask } from './running-app.ts';
import { paint, type Style } from './terminal.ts';

/** Which upstreams can serve, and the state of this machine; exit code 1 if nothing can serve. */
export async function status({ dataDirectory }: Input): Promise<CommandOutcome> {
  const asked = await ask<LiveSnapshot>(dataDirectory, { method: 'GET', path: 'snapshot' });
  if (asked.kind === 'failed') return asked;
  const { url, body } = asked;
  const agentAsked = await ask<AgentView>(dataDirectory, { method: 'GET', path: 'agent' });
  // The route answers 409 while the agent is switched off.
  const agent = agentAsked.kind === 'answered' ? agentAsked.body : null;
  const { status: report, judgement, outcomes } = body;
  const data = { url, baseUrl: `${url}/v1`, status: report, judgement, outcomes, agent };
  return answer(data, statusText(data), {
    exitCode: isServing(judgement) ? EXIT.done : EXIT.failed,
  });
}

function isServing({ verdict }: Judgement): boolean {
  return verdict.kind === 'serving' || verdict.kind === 'untested';
}

interface Status extends Pick<LiveSnapshot, 'status' | 'judgement' | 'outcomes'> {
  readonly url: string;
  readonly baseUrl: string;
  /** Null while the agent is switched off. */
  readonly agent: AgentView | null;
}

function statusText(shown: Status): string {
  const { url, baseUrl, status: report, judgement, outcomes, agent } = shown;
  const { totalRequests } = report.stats;
  const { failed, 'fell-back': fellBack } = outcomes.ended;
  const idWidth = Math.max(...UPSTREAM_IDS.map((id) => id.length));
  // If none is set up, all are listed, with the ids by which settings know them.
  const isSet = ({ id }: UpstreamReport) => judgement.conditions[id].kind !== 'missing';
  const listed = report.upstreams.some(isSet) ? report.upstreams.filter(isSet) : report.upstreams;
  const width = Math.max(...listed.map(({ label }) => label.length));
  const rows = listed.map((upstream) => {
    const { style, text } = lineOf(upstream, shown);
    const name = upstream.label.padEnd(width);
    return `  ${name}  ${paint('dim', upstream.id.padEnd(idWidth))}  ${paint(style, text)}`;
  });
  const nameOf = (id: UpstreamId) =>
    report.upstreams.find((upstream) => upstream.id === id)?.label ?? id;
  return [
    `${paint(isServing(judgement) ? 'green' : 'red', verdictText(judgement, nameOf))}.`,
    `Dashboard: ${url}`,
    `Base URL for your apps: ${baseUrl}`,
    '',
    ...rows,
    '',
    `This machine: ${agent === null ? 'its agent is switched off.' : stateLine(agent)}`,
    `Requests: ${totalRequests} (${fellBack} by a fallback, ${failed} not answered).`,
    ...(report.forceZero ? ['Never spend money: nothing that costs money is called.'] : []),
  ].join('\n');
}

function lineOf(upstream: UpstreamReport, { status: report, judgement }: Status) {
  const condition = judgement.conditions[upstream.id];
  const trouble = troubleIn(condition);
  const { verdict } = judgement;
  const isServer = 'by' in verdict && verdict.by === upstream.id;
  if (condition.kind === 'missing') return { style: 'dim', text: 'not set up' } as const;
  if (trouble !== null)
    return { style: styleOf(condition), text: troubleText(upstream, trouble, condition) };
  const place = upstream.baseUrl ?? poolText(report);
  const state = condition.kind === 'untested' ? 'untested' : isServer ? 'serving' : 'next in line';
  const style: Style = isServer && state === 'serving' ? 'green' : 'dim';
  return { style, text: [state, upstream.model, place].filter(Boolean).join('  ') };
}

function styleOf({ kind }: Condition): Style {
  return kind === 'skipped' || kind === 'zero-spend' || kind === 'probe' ? 'yellow' : 'red';
}

function troubleText({ circuit }: UpstreamReport, trouble: string, condition: Condition): string {
  // After slow answers, the last error is an older one.
  const isFailing =
    condition.kind === 'failing' || ('cause' in condition && condition.cause === 'failures');
  const why = isFailing && circuit.lastError !== null ? ` (${circuit.lastError})` : '';
  const wait = 'remainingMs' in condition ? `, skipped for ${inWords(condition.remainingMs)}` : '';
  return trouble + wait + why;
}

function poolText({ local }: StatusReport): string {
  const { verified_count: verified, pending_count: pending, failed_count: failures } = local;
  return `${verified} tested, ${pending} waiting, ${failures} failed`;
}

function inWords(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
