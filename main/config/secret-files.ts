import { readFileSync } from 'node:fs';
import { codeOf } from '../platform/errors.ts';
import { ENTRIES, ENV_PREFIX } from './schema.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/** What a variable that ends with this names is a file with the secret, as containers get them. */
const SUFFIX = '_FILE';
const MAX_CHARS = 64 * 1024;

/** The variables that may name a file, without their prefix. */
export const SECRET_FILES: ReadonlySet<string> = new Set(
  ENTRIES.filter(({ setting }) => setting.secret).map(({ setting }) => setting.env + SUFFIX),
);

/** The environment with each secret that is in a file put in its place, and why others could not be. */
export function withSecretFiles(env: Variables): {
  readonly env: Variables;
  readonly problems: readonly string[];
} {
  const read: Record<string, string> = {};
  const problems: string[] = [];
  for (const variable of SECRET_FILES) {
    const fileName = ENV_PREFIX + variable;
    const name = fileName.slice(0, -SUFFIX.length);
    const path = env[fileName]?.trim();
    if (path === undefined || path === '') continue;
    if (env[name]?.trim()) {
      problems.push(`${name} and ${fileName} are both set: leave one of them out`);
      continue;
    }
    const found = secretIn(path);
    if (found.kind === 'secret') read[name] = found.text;
    else problems.push(`${fileName} is "${path}", ${found.why}`);
  }
  return { env: { ...env, ...read }, problems };
}

type Found =
  | { readonly kind: 'secret'; readonly text: string }
  | { readonly kind: 'none'; readonly why: string };

function secretIn(path: string): Found {
  try {
    const text = readFileSync(path, 'utf8').trim();
    if (text === '') return { kind: 'none', why: 'which is empty: write the secret into it' };
    if (text.length > MAX_CHARS) return { kind: 'none', why: 'which is too long for a secret' };
    return { kind: 'secret', text };
  } catch (error) {
    const why = `which cannot be read (${codeOf(error) ?? 'unknown'}): it must be a file that this user may read`;
    return { kind: 'none', why };
  }
}
