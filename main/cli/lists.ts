/* What the running gateway lists: models and machines. */

import { JOIN_COMMAND } from '#shared/lifetimes.ts';
import type { ProviderList } from '#shared/provider.ts';
import { OWN_COMMAND } from '../platform/process.ts';
import { answer, type CommandOutcome, EXIT, failed, type Input } from './command.ts';
import { askThen } from './running-app.ts';

/** Lists or changes the machines of the running gateway. */
export async function machines({ dataDirectory, words }: Input): Promise<CommandOutcome> {
  const [action = 'list', id] = words;
  if ((id === undefined) !== (action === 'list' || action === 'add')) return USAGE;
  const path = `providers/${encodeURIComponent(id ?? '')}`;
  switch (action) {
    case 'add': {
      const call = { method: 'POST', path: 'providers/enrollments' } as const;
      return askThen(dataDirectory, call, (added: { readonly join: string }) =>
        answer(added, added.join, {
          note: `Run this on the other machine within ${JOIN_COMMAND.words}; it works once.`,
        }),
      );
    }
    case 'verify':
      return askThen(dataDirectory, { method: 'POST', path: `${path}/verify` }, (body) =>
        answer(body, `${id} is being tested again; "${OWN_COMMAND} machines" shows the result.`),
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
  `Name one machine by its id, as in "${OWN_COMMAND} machines verify prv_1f…"; "list" and "add" take none.`,
  EXIT.usage,
);

function listed(all: ProviderList): CommandOutcome {
  const lines = all.data.map(({ id, host, status, verification, current_model: model }) => {
    const words = [status, verification.status].map(stateWord);
    const parts = [id, host.hostname, ...words, model, verification.failure_reason];
    return parts.filter(Boolean).join('  ');
  });
  return answer(all, lines.length === 0 ? NO_MACHINE : lines.join('\n'));
}

const WORDS: Readonly<Record<string, string>> = {
  idle: 'ready',
  verified: 'tested',
  pending: 'waiting',
  verifying: 'testing',
};

/** The state of a machine, or of its test, in the words of the dashboard. */
export const stateWord = (status: string): string => WORDS[status] ?? status;

const NO_MACHINE = `No machine has joined yet. "${OWN_COMMAND} machines add" prints the line that adds one.`;

interface ModelList {
  readonly data: readonly { readonly id: string; readonly owned_by: string }[];
}

/** The models that apps can ask for, each with the source that has it. */
export function models({ dataDirectory }: Input): Promise<CommandOutcome> {
  return askThen(dataDirectory, { method: 'GET', path: 'models' }, (list: ModelList) => {
    const width = Math.max(0, ...list.data.map(({ id }) => id.length));
    const lines = list.data.map(({ id, owned_by: owner }) => `${id.padEnd(width)}  ${owner}`);
    return answer(list, lines.length === 0 ? NO_MODEL : lines.join('\n'));
  });
}

const NO_MODEL = `No source offers a model now. "${OWN_COMMAND} status" says why.`;
