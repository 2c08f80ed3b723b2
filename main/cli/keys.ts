import type { AddedKey, KeyList } from '#shared/keys.ts';
import type { Input } from './command.ts';
import { answer, EXIT, failed, type CommandOutcome } from './outcome.ts';
import { ask } from './running-app.ts';

export const KEY_ACTIONS = ['list', 'add', 'revoke'] as const;

/** The keys of the running gateway that have names. */
export async function keys(input: Input): Promise<CommandOutcome> {
  const { dataDirectory, words } = input;
  const [action, name] = words;
  if (action === 'list') return name === undefined ? list(dataDirectory) : USAGE;
  if (name === undefined) return USAGE;
  return action === 'add' ? add(dataDirectory, name) : revoke(dataDirectory, name);
}

const USAGE = failed(
  'Name one key, as in "switchyard keys add laptop"; "switchyard keys list" takes no name.',
  EXIT.usage,
);

async function list(dataDirectory: string): Promise<CommandOutcome> {
  const asked = await ask<KeyList>(dataDirectory, { method: 'GET', path: 'keys' });
  if (asked.kind === 'failed') return asked;
  const all = asked.body;
  const width = Math.max(0, ...all.keys.map((key) => key.name.length));
  const lines = all.keys.map(
    ({ name, createdAt, lastUsedAt }) =>
      `${name.padEnd(width)}  created ${createdAt}  ${lastUsedAt === null ? 'not used yet' : `last used ${lastUsedAt}`}`,
  );
  if (all.unnamed > 0) lines.push(`${all.unnamed} more in SWITCHYARD_API_KEYS, without names`);
  return answer(all, lines.length === 0 ? NONE : lines.join('\n'));
}

const NONE =
  'There are no keys: every app on this machine may call. "switchyard keys add NAME" makes one; then every app needs one.';

async function add(dataDirectory: string, name: string): Promise<CommandOutcome> {
  const call = { method: 'POST', path: 'keys', json: { name } } as const;
  const asked = await ask<AddedKey>(dataDirectory, call);
  if (asked.kind === 'failed') return asked;
  const added = asked.body;
  return answer(added, `${added.key}\nThis is shown once. Every app needs a key from now on.`);
}

async function revoke(dataDirectory: string, name: string): Promise<CommandOutcome> {
  const path = `keys/${encodeURIComponent(name)}`;
  const asked = await ask(dataDirectory, { method: 'DELETE', path });
  return asked.kind === 'failed' ? asked : answer(asked.body, `The key "${name}" is revoked.`);
}
