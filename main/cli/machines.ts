import type { ProviderList } from '#shared/provider.ts';
import { answer, type CommandOutcome, EXIT, failed, type Input } from './command.ts';
import { askThen } from './running-app.ts';

export const MACHINE_ACTIONS = ['list', 'add', 'verify', 'remove'] as const;

/** Lists or changes the machines of the running gateway. */
export async function machines({ dataDirectory, words }: Input): Promise<CommandOutcome> {
  const [action = 'list', id] = words;
  if ((id === undefined) !== (action === 'list' || action === 'add')) return USAGE;
  const path = `providers/${encodeURIComponent(id ?? '')}`;
  switch (action) {
    case 'add': {
      const call = { method: 'POST', path: 'providers/enrollments' } as const;
      return askThen(dataDirectory, call, (added: { readonly join: string }) =>
        answer(
          added,
          `${added.join}\nRun this on the other machine within an hour; it works once.`,
        ),
      );
    }
    case 'verify':
      return askThen(dataDirectory, { method: 'POST', path: `${path}/verify` }, (body) =>
        answer(body, `${id} is verified again; "inglenook machines" shows the result.`),
      );
    case 'remove':
      return askThen(dataDirectory, { method: 'DELETE', path }, (body) =>
        answer(body, `${id} is removed.`),
      );
    default:
      return askThen(dataDirectory, { method: 'GET', path: 'providers?limit=1000' }, listed);
  }
}

const USAGE = failed(
  'Name one machine by its id, as in "inglenook machines verify prv_1f…"; "list" and "add" take none.',
  EXIT.usage,
);

function listed(all: ProviderList): CommandOutcome {
  const lines = all.data.map(({ id, host, status, verification, current_model: model }) =>
    [id, host.hostname, status, verification.status, model, verification.failure_reason]
      .filter(Boolean)
      .join('  '),
  );
  return answer(all, lines.length === 0 ? NONE : lines.join('\n'));
}

const NONE = 'No machine has joined yet. "inglenook machines add" prints the line that adds one.';
