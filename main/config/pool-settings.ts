import { z } from 'zod';
import { atStart, type Kind, optional, type Setting } from './setting-types.ts';

const databaseUrl: Kind<string> = {
  name: 'address',
  schema: z.string().max(4096).refine(isPostgresUrl),
  fromText: (text) => text,
  allowed: 'a postgres:// address with a database, such as postgres://switchyard@db.lan/switchyard',
};

function isPostgresUrl(value: string): boolean {
  // An address that was read back masked is none.
  if (!/^postgres(ql)?:\/\//.test(value) || value.includes('…') || !URL.canParse(value))
    return false;
  const { hash, hostname, pathname, username, password } = new URL(value);
  if (hash !== '' || hostname === '' || !/^\/[^/]+$/.test(pathname)) return false;
  try {
    decodeURIComponent(username + password + pathname);
    return true;
  } catch {
    return false;
  }
}

/** Kept with the secrets, as it may hold a password, and shown without it. */
const withPassword = <T>(of: Setting<T>): Setting<T> => ({ ...of, secret: true });

/** What several gateways share, in section `gateway`. */
export const POOL_SETTINGS = {
  databaseUrl: withPassword(
    atStart(
      optional(
        'DATABASE_URL',
        databaseUrl,
        'PostgreSQL database in which several gateways share their machines. Empty: a file of this gateway.',
      ),
    ),
  ),
};
