import {
  type AddedKey,
  KEY_LIMIT_NAMES,
  KEY_LIMITS,
  type KeyLimitName,
  type KeyLimitUse,
  type KeyList,
  type NamedKey,
} from '#shared/keys.ts';
import { Option } from 'commander';
import { answer, type CommandOutcome, EXIT, failed, type Input } from './command.ts';
import { askThen } from './running-app.ts';
import { OWN_COMMAND } from '../platform/process.ts';

export const KEY_LIMIT_OPTIONS: readonly Option[] = KEY_LIMIT_NAMES.map((name) => {
  const { of, period } = KEY_LIMITS[name];
  const summary = `Maximum ${of} per ${period}, or "none".`;
  return new Option(`--${of}-${period} <count>`, summary);
});

/** Lists or changes the named keys of the running gateway. */
export async function keys({ dataDirectory, words, options }: Input): Promise<CommandOutcome> {
  const [action, name] = words;
  const limits = limitsIn(options);
  if (limits === null) return BAD_LIMIT;
  const hasLimits = Object.keys(limits).length > 0;
  const takesLimits = action === 'add' || action === 'limit';
  if ((name === undefined) !== (action === 'list') || (hasLimits && !takesLimits)) return USAGE;
  const path = `keys/${encodeURIComponent(name ?? '')}`;
  switch (action) {
    case 'add': {
      const call = { method: 'POST', path: 'keys', json: { name, limits } } as const;
      return askThen(dataDirectory, call, (added: AddedKey) =>
        answer(added, added.key, {
          note: 'This is shown once. Every app needs a key from now on.',
        }),
      );
    }
    case 'limit': {
      if (!hasLimits) return NO_LIMIT;
      const call = { method: 'PATCH', path, json: { limits } } as const;
      return askThen(dataDirectory, call, (limited: Pick<NamedKey, 'limits'>) => {
        const now = limited.limits.map(limitText);
        return answer(limited, `${name}: ${now.length === 0 ? 'no limit' : now.join(', ')}`);
      });
    }
    case 'revoke':
      return askThen(dataDirectory, { method: 'DELETE', path }, (body) =>
        answer(body, `The key "${name}" is revoked.`),
      );
    default:
      return askThen(dataDirectory, { method: 'GET', path: 'keys' }, listed);
  }
}

const USAGE = failed(
  `Name one key, as in "${OWN_COMMAND} keys add laptop"; "${OWN_COMMAND} keys list" takes no name. Limits belong to "add" and "limit".`,
  EXIT.usage,
);

const NO_LIMIT = failed(
  `Say which limit, as in "${OWN_COMMAND} keys limit laptop --requests-day 1000 --tokens-month none".`,
  EXIT.usage,
);

const BAD_LIMIT = failed('A limit is a whole number of at least 1, or "none".', EXIT.usage);

/** Null if a value is not a valid limit. */
function limitsIn(options: Input['options']) {
  const change: Partial<Record<KeyLimitName, number | null>> = {};
  for (const name of KEY_LIMIT_NAMES) {
    const value = options[name];
    if (value === undefined) continue;
    if (value !== 'none' && !/^[1-9]\d{0,11}$/.test(String(value))) return null;
    change[name] = value === 'none' ? null : Number(value);
  }
  return change;
}

function listed(all: KeyList): CommandOutcome {
  const width = Math.max(0, ...all.keys.map((key) => key.name.length));
  const lines = all.keys.map(({ name, createdAt, lastUsedAt, limits }) =>
    [
      name.padEnd(width),
      `created ${createdAt}`,
      lastUsedAt === null ? 'not used yet' : `last used ${lastUsedAt}`,
      ...limits.map(limitText),
    ].join('  '),
  );
  if (all.unnamed > 0) lines.push(`${all.unnamed} more in INGLENOOK_API_KEYS, without names`);
  return answer(all, lines.length === 0 ? NONE : lines.join('\n'));
}

const NONE = `No API keys yet, so any app on this machine can use the gateway. "${OWN_COMMAND} keys add NAME" creates one; then every app needs one.`;

/** What was used of a limit, as in `830 of 1000 requests per day`. */
function limitText({ name, limit: most, used }: KeyLimitUse): string {
  const { of, period } = KEY_LIMITS[name];
  return `${used} of ${most} ${of} per ${period}`;
}
