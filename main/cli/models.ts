import { answer, type CommandOutcome, type Input } from './command.ts';
import { askThen } from './running-app.ts';

interface ModelList {
  readonly data: readonly { readonly id: string; readonly owned_by: string }[];
}

/** The models that apps can ask for, each with the upstream that has it. */
export function models({ dataDirectory }: Input): Promise<CommandOutcome> {
  return askThen(dataDirectory, { method: 'GET', path: 'models' }, (list: ModelList) => {
    const width = Math.max(0, ...list.data.map(({ id }) => id.length));
    const lines = list.data.map(({ id, owned_by: owner }) => `${id.padEnd(width)}  ${owner}`);
    return answer(list, lines.length === 0 ? NONE : lines.join('\n'));
  });
}

const NONE = 'No upstream offers a model now. "inglenook status" says why.';
