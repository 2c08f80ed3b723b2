import { z } from 'zod';
import { answer, type CommandOutcome, EXIT, type Input } from './command.ts';
import { AGENT, stateLine } from './owner-commands.ts';
import { ask } from './running-app.ts';
import { paint, type Paint } from './terminal.ts';

const REPORT = z.looseObject({
  ok: z.boolean(),
  forceZero: z.boolean(),
  local: z.looseObject({
    health: z.string(),
    verified_count: z.number(),
    pending_count: z.number(),
    failed_count: z.number(),
  }),
  upstreams: z.array(
    z.looseObject({
      id: z.string(),
      baseUrl: z.string().nullable(),
      model: z.string(),
      healthy: z.boolean(),
      circuit: z.looseObject({
        open: z.boolean(),
        cooldownRemainingMs: z.number(),
        lastError: z.string().nullable(),
      }),
      skips: z.array(z.looseObject({ reason: z.string(), until: z.string() })),
    }),
  ),
  stats: z.looseObject({ totalRequests: z.number(), fallbackCount: z.number() }),
});

type Report = z.infer<typeof REPORT>;

/** Which upstreams can serve, and the state of this machine; exit code 1 if nothing can serve. */
export async function status({ dataDirectory }: Input): Promise<CommandOutcome> {
  const asked = await ask(dataDirectory, { method: 'GET', path: 'status', answer: REPORT });
  if (asked.kind === 'failed') return asked;
  const { url, body: report } = asked;
  const agentAsked = await ask(dataDirectory, { method: 'GET', path: 'agent', answer: AGENT });
  // The route answers 409 while the agent is switched off.
  const agent = agentAsked.kind === 'answered' ? agentAsked.body : null;
  const data = { url, baseUrl: `${url}/v1`, status: report, agent };
  return answer(data, statusText(data, paint), report.ok ? EXIT.done : EXIT.failed);
}

interface Status {
  readonly url: string;
  readonly baseUrl: string;
  readonly status: Report;
  /** Null while the agent is switched off. */
  readonly agent: z.infer<typeof AGENT> | null;
}

function statusText({ url, baseUrl, status: report, agent }: Status, color: Paint): string {
  const { totalRequests, fallbackCount } = report.stats;
  const width = Math.max(...report.upstreams.map(({ id }) => id.length));
  const rows = report.upstreams.map((upstream) => {
    const { style, text } = statusLineOf(upstream, report);
    return `  ${upstream.id.padEnd(width)}  ${color(style, text)}`;
  });
  return [
    `${report.ok ? color('green', 'Ready') : color('red', 'Nothing can serve now')} at ${url}`,
    `Base URL for your apps: ${baseUrl}`,
    '',
    ...rows,
    '',
    `This machine: ${agent === null ? 'its agent is switched off.' : stateLine(agent)}`,
    `Requests: ${totalRequests}, of which ${fallbackCount} fell back.`,
    ...(report.forceZero ? ['Zero-spend: only local is called.'] : []),
  ].join('\n');
}

interface StatusLine {
  readonly style: 'green' | 'yellow' | 'red' | 'dim';
  readonly text: string;
}

function statusLineOf(upstream: Report['upstreams'][number], report: Report): StatusLine {
  const { id, baseUrl, circuit, skips, healthy, model } = upstream;
  const [exclusion] = skips;
  const isPool = id === 'local' && baseUrl === null;
  if (circuit.open) {
    const seconds = Math.ceil(circuit.cooldownRemainingMs / 1000);
    const why = circuit.lastError === null ? '' : `: ${circuit.lastError}`;
    return { style: 'red', text: `skipped for ${seconds} s${why}` };
  }
  if (exclusion !== undefined) {
    return { style: 'yellow', text: `skipped until ${exclusion.until}: ${exclusion.reason}` };
  }
  if (isPool) return poolLine(report);
  if (baseUrl === null) return { style: 'dim', text: 'not set up' };
  if (!healthy) return { style: 'yellow', text: `cannot serve now  ${baseUrl}` };
  return { style: 'green', text: ['ready', model, baseUrl].filter(Boolean).join('  ') };
}

function poolLine({ local }: Report): StatusLine {
  const { verified_count: verified, pending_count: pending, failed_count: failures } = local;
  if (verified + pending + failures === 0) return { style: 'dim', text: 'no machine has joined' };
  const text = `${verified} verified, ${pending} pending, ${failures} failed`;
  if (local.health === 'ok') return { style: 'green', text: `ready  ${text}` };
  return { style: 'yellow', text: `cannot serve now  ${text}` };
}
