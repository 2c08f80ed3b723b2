import { SILENT_MS } from '#shared/pool.ts';
import type { PoolReport, StatusReport } from '#shared/status.ts';
import type { Input } from './command.ts';
import { answer, EXIT, failed, type CommandOutcome } from './outcome.ts';
import { ask } from './running-app.ts';

export const POOL_ACTIONS = ['status', 'import'] as const;

export async function pool(input: Input): Promise<CommandOutcome> {
  if (input.words[0] === 'status') return status(input);
  return (await import('./pool-import.ts')).importFile(input);
}

/** The gateways that share a database with the running one; exit code 1 while the database does not answer. */
async function status({ dataDirectory }: Input): Promise<CommandOutcome> {
  const asked = await ask<StatusReport>(dataDirectory, { method: 'GET', path: 'status' });
  if (asked.kind === 'failed') return asked;
  const { pool: report } = asked.body;
  if (report === undefined) return failed(ALONE);
  const isConnected = report.database === 'connected';
  return answer(report, poolText(report), isConnected ? EXIT.done : EXIT.failed);
}

const ALONE =
  'This gateway is not in a pool: set SWITCHYARD_DATABASE_URL for all gateways of one (docs/pool.md).';

function poolText({ gateway, database, problem, gateways, totals }: PoolReport): string {
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

const servedText = ({ requests, answers, tokens }: PoolReport['totals']) =>
  `${requests} requests, ${answers} answered, ${tokens} tokens`;
