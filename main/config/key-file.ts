import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { KEY_LIMIT_NAMES, MAX_KEY_LIMIT } from '#shared/keys.ts';
import { readTextFile, replaceFile } from '../platform/files.ts';
import { parseJson } from '../platform/json.ts';

const limit = z.int().min(1).max(MAX_KEY_LIMIT);

/** An unknown limit is refused, not dropped. */
export const keyLimits = z.partialRecord(z.enum(KEY_LIMIT_NAMES), limit);

export type KeyLimitValues = Readonly<z.infer<typeof keyLimits>>;

/** Fits into a URL path, and differs from the names that keys of API_KEYS get. */
export const KEY_NAME = /^(?!key \d+$)[A-Za-z0-9](?:[\w.@ -]{0,62}[\w.@-])?$/;

const storedKeySchema = z.object({
  name: z.string().regex(KEY_NAME),
  /** SHA-256 of the key, as hex. */
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  /** Wall-clock milliseconds since the epoch. */
  createdAt: z.number(),
  limits: keyLimits.default({}),
});
const schema = z.object({ version: z.literal(1), keys: z.array(storedKeySchema) });

/** A key that was created with a name. The key itself is stored nowhere. */
export type StoredKey = Readonly<z.infer<typeof storedKeySchema>>;

export type KeyFile =
  | { readonly kind: 'keys'; readonly keys: readonly StoredKey[] }
  | { readonly kind: 'unreadable'; readonly problem: string };

export const NO_KEYS: KeyFile = { kind: 'keys', keys: [] };

const FILE = 'keys.json';

/** An unreadable file is never taken for an empty one, which would open the gateway to all callers. */
export function readKeyFile(directory: string): KeyFile {
  const path = join(directory, FILE);
  const text = readTextFile(path);
  if (text === null) return NO_KEYS;
  const parsed = schema.safeParse(parseJson(text));
  if (parsed.success) return { kind: 'keys', keys: parsed.data.keys };
  const problem = `${path} is not a list of keys: restore it from a backup, or delete it, which revokes all named keys`;
  return { kind: 'unreadable', problem };
}

/** Throws the file system's error. */
export function writeKeyFile(directory: string, keys: readonly StoredKey[]): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  replaceFile(join(directory, FILE), `${JSON.stringify({ version: 1, keys }, null, 2)}\n`);
}
