import { z } from 'zod';
import type { Input } from './command.ts';
import { answer, type CommandOutcome } from './outcome.ts';
import { ask } from './running-app.ts';

const LIST = z.looseObject({
  data: z.array(z.looseObject({ id: z.string(), owned_by: z.string() })),
});

/** The models that apps can ask for, each with the upstream that has it. */
export async function models({ dataDirectory }: Input): Promise<CommandOutcome> {
  const asked = await ask(dataDirectory, { method: 'GET', path: 'models', answer: LIST });
  if (asked.kind === 'failed') return asked;
  const list = asked.body;
  const width = Math.max(0, ...list.data.map(({ id }) => id.length));
  const lines = list.data.map(({ id, owned_by: owner }) => `${id.padEnd(width)}  ${owner}`);
  return answer(list, lines.length === 0 ? NONE : lines.join('\n'));
}

const NONE = 'No upstream offers a model now. "switchyard status" says why.';
