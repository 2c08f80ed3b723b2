import { hostname, networkInterfaces } from 'node:os';
import type { SettingSource } from '#shared/settings-view.ts';
import { isLoopbackHost, isWildcardHost } from '../platform/http/addresses.ts';
import { bareHost, canonicalIp, portOf } from '../platform/network-guard.ts';
import { type KeyFile, NO_KEYS, readKeyFile, type StoredKey } from './key-file.ts';
import { maskMistyped } from './setting-types.ts';
import { type Config, ENTRIES, type Entry, ENV_PREFIX, valueAt } from './schema.ts';
import { readSettings, setBadAside, type SettingsTree } from './settings-file.ts';
import type { SecretBox } from '../platform/secrets.ts';
import { readFileSync } from 'node:fs';
import { codeOf } from '../platform/errors.ts';
import { OWN_COMMAND } from '../platform/process.ts';

/** Says where the files of the program are, and is no setting of it. */
const DIRECTORY = `${ENV_PREFIX}DATA_DIR`;

export interface LoadedConfig {
  readonly kind: 'loaded';
  readonly config: Config;
  /** Source of each value, by path. */
  readonly sources: ReadonlyMap<string, SettingSource>;
  readonly namedKeys: readonly StoredKey[];
  readonly warnings: readonly string[];
  /** Those of the warnings that are about saved settings that were set aside. */
  readonly setAside: readonly string[];
}

export interface RefusedConfig {
  readonly kind: 'refused';
  /** One line each: the variable, its value (secrets masked) and what is allowed. */
  readonly problems: readonly string[];
}

/**
 * Settles every setting: environment, else settings file, else default.
 * A bad value in the environment refuses the start; it never silently becomes a default. `sealed` holds the paths of
 * the saved secrets that were decrypted with the keychain's key.
 */
export function loadConfig(
  env: Readonly<Record<string, string | undefined>>,
  file: SettingsTree,
  keyFile: KeyFile = NO_KEYS,
  sealed: ReadonlySet<string> = new Set(),
): LoadedConfig | RefusedConfig {
  const given = withSecretFiles(env);
  const problems = [...(keyFile.kind === 'unreadable' ? [keyFile.problem] : []), ...given.problems];
  const namedKeys = keyFile.kind === 'keys' ? keyFile.keys : [];
  const sources = new Map<string, SettingSource>();
  const sections: Record<string, Record<string, unknown>> = {};
  for (const entry of ENTRIES) {
    const { section, key, path, variable } = entry;
    const text = given.env[variable]?.trim() ?? '';
    const { value, source, problem } = settle(entry, text, file[section]?.[key]);
    if (problem !== null) problems.push(problem);
    (sections[section] ??= {})[key] = value;
    sources.set(path, source === 'file' && sealed.has(path) ? 'keychain' : source);
  }
  // Every key of the table was filled above, each with a value that its own schema accepted.
  const config = sections as unknown as Config;
  if (problems.length === 0) {
    const own = ownAddresses(config).map(({ message }) => message);
    problems.push(...openToTheNetwork(config, namedKeys.length > 0), ...own);
  }
  if (problems.length > 0) return { kind: 'refused', problems };
  const warnings = unknownVariables(env);
  return { kind: 'loaded', config, sources, namedKeys, warnings, setAside: [] };
}

/** What is said where a lost setting or record may have limited what is spent. */
export const SPENDING_HELD = '“Never spend money” is on until you switch it off';

/** The same from the files of a data directory; `lost`: paths of the secrets that `box` does not open. */
export function loadSavedConfig(
  env: Readonly<Record<string, string | undefined>>,
  directory: string,
  box: SecretBox | null = null,
): (LoadedConfig & { readonly lost: readonly string[] }) | RefusedConfig {
  const { tree, sealed, lost, files } = readSettings(directory, box);
  const loaded = loadConfig(env, tree, readKeyFile(directory), sealed);
  if (loaded.kind === 'refused') return loaded;
  const isFixed = loaded.sources.get('routing.forceZero') === 'env';
  const held = isFixed ? `${ENV_PREFIX}FORCE_ZERO decides whether money is spent` : SPENDING_HELD;
  const setAside = setBadAside(files, held, Date.now());
  const warnings = [...setAside, ...lost.map(lostText), ...loaded.warnings];
  return { ...loaded, warnings, setAside, lost };
}

const lostText = (path: string) =>
  `${path} is encrypted with a keychain key that is not available here: enter it again. The app's menu can keep keys in the file instead.`;

/** Where the value of a setting comes from; `text` is that of its variable, and `stored` that of the file. */
function settle({ variable, setting: { kind, fallback } }: Entry, text: string, stored: unknown) {
  if (text !== '') {
    const { success, data } = kind.schema.safeParse(kind.fromText(text));
    const shown = (kind.shown ?? maskMistyped)(text);
    const problem = `${variable} is "${shown}" but must be ${kind.allowed}`;
    return { value: data, source: 'env', problem: success ? null : problem } as const;
  }
  const isStored = stored !== undefined && stored !== null;
  const source = isStored ? 'file' : 'default';
  return { value: isStored ? stored : fallback, source, problem: null } as const;
}

function unknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set([...ENTRIES.map(({ variable }) => variable), ...SECRET_FILES, DIRECTORY]);
  return Object.keys(env)
    .filter((name) => name.startsWith(ENV_PREFIX) && !known.has(name))
    .map((name) => `${name} is not a setting of this version and is ignored`);
}

/** Why this configuration would be open to other machines without a key, one line each. */
export function openToTheNetwork({ gateway }: Config, hasNamedKeys: boolean): string[] {
  if (isLoopbackHost(gateway.host) || gateway.apiKeys.length > 0 || hasNamedKeys) return [];
  return [
    `${ENV_PREFIX}HOST is "${gateway.host}", which other machines can reach, but ${ENV_PREFIX}API_KEYS is empty: ` +
      `set ${ENV_PREFIX}API_KEYS to a key of your own (openssl rand -hex 24 makes one), create one with "${OWN_COMMAND} keys add NAME" while it is bound to 127.0.0.1, or bind to 127.0.0.1`,
  ];
}

/** Every setting with its path, its variable, its default, what it does and what is allowed. */
export function createSettingsHelp(): string {
  const settings = ENTRIES.map(({ path, variable, setting: { fallback, meaning, kind } }) =>
    [
      `${path.padEnd(32)} ${variable.padEnd(38)} ${shownValue(fallback)}`,
      `  ${meaning}`,
      `  Allowed: ${kind.allowed}.`,
    ].join('\n'),
  );
  return `Each setting has a path, for "${OWN_COMMAND} set", a variable and a default.

${settings.join('\n\n')}

${DIRECTORY} is the directory for settings, keys and logs. Each secret may also come from a file: a variable with _FILE
at its end, as in ${ENV_PREFIX}HOSTED_A_API_KEY_FILE, names it.
`;
}

/** As a setting is written in a variable; "none" if there is nothing to write. */
export function shownValue(value: unknown): string {
  const json = JSON.stringify(value);
  if (['null', '[]', '{}'].includes(json)) return 'none';
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'string' ? value : json;
}

/** The upstreams whose address is this gateway's own: each request would call itself again. */
export function ownAddresses(config: Config) {
  const { gateway, agent } = config;
  return ENTRIES.flatMap((entry) => {
    const url = upstreamUrl(entry, config);
    if (url === null || !isThisMachine(url.hostname)) return [];
    const port = portOf(url);
    // The agent's engine behind the agent's own port would be a loop as well.
    const isAgentLoop = entry.path === 'agent.engineUrl' && agent.ports.includes(port);
    if (port !== gateway.port && !isAgentLoop) return [];
    const part = isAgentLoop ? 'agent' : 'gateway';
    const message = `${entry.variable} is "${url.host}", the address of this ${part} itself: requests would come back to it; set it to the address of the engine`;
    return [{ path: entry.path, message }];
  });
}

/** Null for other settings, and for one that is not set. */
function upstreamUrl(entry: Entry, config: Config): URL | null {
  // A machine may report to the gateway in its own process.
  if (entry.setting.kind.name !== 'address' || entry.path === 'agent.registryUrl') return null;
  const value = valueAt(config, entry);
  return typeof value === 'string' ? URL.parse(value) : null;
}

function isThisMachine(host: string): boolean {
  const name = bareHost(host).toLowerCase();
  if (isLoopbackHost(name) || isWildcardHost(name)) return true;
  if (name === hostname().toLowerCase()) return true;
  const ip = canonicalIp(name);
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return ip !== null && own.some(({ address }) => canonicalIp(address) === ip);
}

type Variables = Readonly<Record<string, string | undefined>>;

/** What a variable that ends with this names is a file with the secret, as containers get them. */
const SUFFIX = '_FILE';
const MAX_CHARS = 64 * 1024;

/** The variables that may name a file. */
const SECRET_FILES: ReadonlySet<string> = new Set(
  ENTRIES.filter(({ setting }) => setting.secret).map(({ variable }) => variable + SUFFIX),
);

/** The environment with each secret that is in a file put in its place, and why others could not be. */
function withSecretFiles(env: Variables) {
  const read: Record<string, string> = {};
  const problems: string[] = [];
  for (const fileName of SECRET_FILES) {
    const name = fileName.slice(0, -SUFFIX.length);
    const path = env[fileName]?.trim();
    if (path === undefined || path === '') continue;
    if (env[name]?.trim()) {
      problems.push(`${name} and ${fileName} are both set: leave one of them out`);
      continue;
    }
    const { text, why } = secretIn(path);
    if (why === null) read[name] = text;
    else problems.push(`${fileName} is "${path}", ${why}`);
  }
  return { env: { ...env, ...read }, problems };
}

/** `why` is why there is none in the file; null if there is. */
function secretIn(path: string): { readonly text: string; readonly why: string | null } {
  try {
    const text = readFileSync(path, 'utf8').trim();
    if (text === '') return { text, why: 'which is empty: write the secret into it' };
    return { text, why: text.length > MAX_CHARS ? 'which is too long for a secret' : null };
  } catch (error) {
    const why = `which cannot be read (${codeOf(error) ?? 'unknown'}): it must be a file that this user may read`;
    return { text: '', why };
  }
}
