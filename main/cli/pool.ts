import { z } from 'zod';
import { SILENT_MS } from '#shared/pool.ts';
import { answer, EXIT, type CommandOutcome, failed, type Input } from './command.ts';
import { ask } from './running-app.ts';

export const POOL_ACTIONS = ['status', 'import'] as const;

export async function pool(input: Input): Promise<CommandOutcome> {
  if (input.words[0] === 'status') return status(input);
  return (await import('./pool-import.ts')).importFile(input);
}

const TOTALS = { requests: z.number(), answers: z.number(), tokens: z.number() };

const POOL = z.looseObject({
  gateway: z.string(),
  database: z.string(),
  problem: z.string().nullable(),
  gateways: z.array(
    z.looseObject({
      id: z.string(),
      host: z.string(),
      version: z.string(),
      seen_ms: z.number(),
      behind: z.number(),
      machines: z.number(),
      verified: z.number(),
      leases: z.number(),
      ...TOTALS,
    }),
  ),
  totals: z.looseObject(TOTALS),
});

const REPORT = z.looseObject({ ok: z.boolean(), pool: POOL.optional() });

/** The gateways that share a database with the running one; exit code 1 while the database does not answer. */
async function status({ dataDirectory }: Input): Promise<CommandOutcome> {
  const asked = await ask(dataDirectory, { method: 'GET', path: 'status', answer: REPORT });
  if (asked.kind === 'failed') return asked;
  const { pool: report } = asked.body;
  if (report === undefined) return failed(ALONE);
  const isConnected = report.database === 'connected';
  return answer(report, poolText(report), isConnected ? EXIT.done : EXIT.failed);
}

const ALONE =
  'This gateway is not in a pool: set SWITCHYARD_DATABASE_URL for all gateways of one (docs/pool.md).';

function poolText({ gateway, database, problem, gateways, totals }: z.infer<typeof POOL>): string {
  const width = Math.max(0, ...gateways.map(({ host }) => host.length));
  const rows = gateways.map((each) => {
    const seen =
      each.seen_ms < SILENT_MS ? 'here' : `not seen for ${Math.round(each.seen_ms / 1000)} s`;
    const lag = each.behind === 0 ? 'up to date' : `${each.behind} commits behind`;
    const self = each.id === gateway ? '  (this one)' : '';
    const work = `${each.machines} machines, ${each.verified} verified by it, ${each.leases} leases`;
    return `  ${each.host.padEnd(width)}  ${each.version}  ${seen}, ${lag}, ${work}, ${servedText(each)}${self}`;
  });
  const state =
    database === 'connected'
      ? 'The database answers.'
      : (problem ?? 'The database does not answer.');
  return [
    state,
    `Gateways, as of the last answer: ${gateways.length}`,
    ...rows,
    `Together: ${servedText(totals)}`,
  ].join('\n');
}

const servedText = ({ requests, answers, tokens }: z.infer<typeof POOL>['totals']) =>
  `${requests} requests, ${answers} answered, ${tokens} tokens`;
