import { z } from 'zod';
import { decoded } from '../platform/addresses.ts';
import {
  maskSecret,
  asList,
  atStart,
  type Kind,
  optional,
  setting,
  type Setting,
} from './setting-types.ts';

const databaseUrl: Kind<string> = {
  name: 'address',
  schema: z.string().max(4096).refine(isPostgresUrl),
  fromText: (text) => text,
  allowed: 'a postgres:// address with a database, such as postgres://switchyard@db.lan/switchyard',
};

function isPostgresUrl(value: string): boolean {
  // The window shows addresses masked with "…"; such a text must not be saved.
  if (!/^postgres(ql)?:\/\//.test(value) || value.includes('…') || !URL.canParse(value))
    return false;
  const { hash, hostname, pathname, username, password } = new URL(value);
  if (hash !== '' || hostname === '' || !/^\/[^/]+$/.test(pathname)) return false;
  // The driver decodes each.
  return [username, password, hostname, pathname].every((part) => decoded(part) !== null);
}

/** As the file `gateway-secret` has it. */
const poolSecret: Kind<string> = {
  name: 'secret',
  schema: z.string().regex(/^[\da-f]{64}$/),
  fromText: (text) => text.toLowerCase(),
  allowed: '64 hexadecimal digits (openssl rand -hex 32 makes them)',
  shown: maskSecret,
};

/** Saved with the secrets, because it may hold a password, and shown without the password. */
const withPassword = <T>(of: Setting<T>): Setting<T> => ({ ...of, secret: true });

/** Addresses of gateways as agents report to them. */
const addresses: Kind<readonly string[]> = {
  name: 'list',
  schema: z.array(z.string().refine(isOrigin)).max(16),
  fromText: asList,
  allowed: 'addresses such as http://192.168.1.10:47900, without a path, separated by commas',
};

function isOrigin(value: string): boolean {
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false;
  const { pathname, username, password, search, hash } = new URL(value);
  return pathname === '/' && username + password + search + hash === '';
}

/** Further gateways for the agent of this machine, in section `agent`. */
export const OTHER_REGISTRIES = setting(
  'OTHER_REGISTRY_URLS',
  addresses,
  [],
  'Other gateways of the pool. If this machine’s gateway stops responding, the machine reports to the next one, and returns when the first recovers.',
);

/** What several gateways share, in section `gateway`. */
export const POOL_SETTINGS = {
  databaseUrl: withPassword(
    atStart(
      optional(
        'DATABASE_URL',
        databaseUrl,
        'PostgreSQL database in which several gateways share their machines, such as postgres://switchyard@db.lan/switchyard. Leave empty to use a file.',
      ),
    ),
  ),
  poolSecret: atStart(
    optional(
      'POOL_SECRET',
      poolSecret,
      'Secret by which machines recognize the gateways of a pool, the same for all of them. Leave empty to use the file gateway-secret in the data directory.',
    ),
  ),
  poolAddresses: setting(
    'POOL_ADDRESSES',
    addresses,
    [],
    'Addresses of all gateways of the pool, as machines reach them, separated by commas. Machines learn them when they join.',
  ),
};
