import { isDeepStrictEqual } from 'node:util';
import type { HostedId } from '#shared/ids.ts';
import { isObject } from '../platform/json.ts';
import type { SettingSource, SettingsView, SettingView } from '#shared/settings-view.ts';
import { messageOf } from '../platform/errors.ts';
import type { SecretBox } from '../platform/secrets.ts';
import { type LoadedConfig, openToTheNetwork, ownAddresses } from './load.ts';
import { maskHeaders, maskSecret, maskUrl } from './setting-types.ts';
import { type Config, ENTRIES, type Entry, type SettingChange, valueAt } from './schema.ts';
import { readSettings, writeSettings } from './settings-file.ts';

/** `patched` means that the change is on disk and in force. */
export type PatchResult =
  | { readonly kind: 'patched' }
  | Refusal
  /** It could not be written; nothing changed. */
  | { readonly kind: 'unwritten'; readonly message: string };

type Slots = readonly [HostedId, HostedId];

/** The configuration in force: a value that is replaced as a whole when a setting changes. */
export type LiveConfig = ReturnType<typeof createLiveConfig>;

interface ConfigFiles {
  readonly directory: string;
  readonly hasNamedKeys: () => boolean;
  /** Left out where secrets are saved in plain text. */
  readonly secretBox?: SecretBox | null;
}

/** `changed` is called for each replacement. */
export function createLiveConfig(
  loaded: LoadedConfig,
  { directory, hasNamedKeys, secretBox = null }: ConfigFiles,
  changed: (now: Config, before: Config) => void,
) {
  let { config } = loaded;
  let box = secretBox;
  let secretSaved = () => {};
  const sources = new Map<string, SettingSource>(loaded.sources);

  const planned = (tree: unknown): PatchPlan =>
    planPatch(tree, { config, sources, hasNamedKeys: hasNamedKeys() });

  /** Null once the changes are on disk. */
  function write(changes: readonly SettingChange[]): PatchResult | null {
    try {
      writeSettings(directory, changes, box);
    } catch (error) {
      const message = `The settings file could not be written: ${messageOf(error)}`;
      return { kind: 'unwritten', message };
    }
    for (const { entry, value } of changes) {
      const saved = entry.setting.secret && box !== null ? 'keychain' : 'file';
      sources.set(entry.path, value === undefined ? 'default' : saved);
    }
    return null;
  }

  function apply(plan: PatchPlan): PatchResult {
    if (plan.kind === 'refused') return plan;
    const failure = write(plan.changes);
    if (failure !== null) return failure;
    putInForce(plan.config);
    if (plan.changes.some(({ entry }) => entry.setting.secret)) secretSaved();
    return { kind: 'patched' };
  }

  function putInForce(next: Config): void {
    const before = config;
    config = next;
    changed(config, before);
  }

  return {
    current: (): Config => config,
    /** Every value with its source, secrets masked. */
    view: (): SettingsView => settingsView(config, sources),
    /** From now on seals secrets with this box, or saves them in plain text without one; converts the saved ones. */
    keepSecretsIn(next: SecretBox | null): PatchResult {
      const before = box;
      box = next;
      const moved = ENTRIES.filter(({ path }) => sources.get(path) === (box ? 'file' : 'keychain'))
        .filter(({ setting }) => setting.secret)
        .map((entry) => ({ entry, value: valueAt(config, entry) }));
      const failure = moved.length === 0 ? null : write(moved);
      if (failure !== null) box = before;
      return failure ?? { kind: 'patched' };
    },
    /** Puts in force what this box opens and the one of the start did not; what was entered since then stays. */
    openSecrets(next: SecretBox): void {
      const { tree, sealed } = readSettings(directory, next);
      const opened = ENTRIES.filter(
        ({ path }) => sealed.has(path) && (sources.get(path) ?? 'default') === 'default',
      ).map((entry) => ({ entry, value: tree[entry.section]?.[entry.key] }));
      if (opened.length === 0) return;
      for (const { entry } of opened) sources.set(entry.path, 'keychain');
      putInForce(opened.reduce(withChange, config));
    },
    /** Calls the listener after each change of a secret. */
    onSecretSaved(listener: () => void): void {
      secretSaved = listener;
    },
    /** Why `patch` would refuse the tree now; null if it would not. */
    check(tree: unknown): Refusal | null {
      const plan = planned(tree);
      return plan.kind === 'refused' ? plan : null;
    },
    /** Makes all changes of the tree or none: writes them first, then puts them in force. */
    patch: (tree: unknown): PatchResult => apply(planned(tree)),
    /** Exchanges all settings of two hosted upstreams or none, secrets too. */
    swap: (...slots: Slots): PatchResult => apply(planSwap(slots, config, sources)),
  };
}

/** All changes, or the first reason why there is none. */
type PatchPlan =
  | {
      readonly kind: 'planned';
      readonly changes: readonly SettingChange[];
      readonly config: Config;
    }
  | Refusal;

interface Refusal {
  readonly kind: 'refused';
  readonly code: 'invalid_request' | 'set_by_environment';
  readonly message: string;
  /** The setting's path, or null if no single one is meant. */
  readonly param: string | null;
}

/** Checks a tree of plain values against the table; a null value resets its setting to the default. */
function planPatch(
  tree: unknown,
  {
    config,
    sources,
    hasNamedKeys,
  }: Pick<LoadedConfig, 'config' | 'sources'> & { readonly hasNamedKeys: boolean },
): PatchPlan {
  if (!isObject(tree))
    return invalid('Send an object of sections, such as {"ondemand":{"warmup":false}}.', null);
  const changes: SettingChange[] = [];
  for (const [section, keys] of Object.entries(tree)) {
    if (!isObject(keys)) return invalid(`'${section}' must be an object of settings.`, section);
    const isKnown = ENTRIES.some((entry) => entry.section === section);
    if (!isKnown && Object.keys(keys).length === 0) {
      return invalid(`There is no section '${section}'.`, section);
    }
    for (const [key, value] of Object.entries(keys)) {
      const path = `${section}.${key}`;
      const entry = ENTRIES.find((each) => each.path === path);
      if (entry === undefined) return invalid(`There is no setting '${path}'.`, path);
      const problem = problemWith(entry, value, sources);
      if (problem !== null) return problem;
      changes.push({ entry, value: value ?? undefined });
    }
  }
  for (const entry of boundTo(changes, config)) {
    if (changes.some((change) => change.entry === entry)) continue;
    const held = heldByEnvironment(entry, sources);
    if (held !== null)
      return { ...held, message: `${held.message} It must not go to another address.` };
    changes.push({ entry, value: undefined });
  }
  const next = changes.reduce(withChange, config);
  const [open] = openToTheNetwork(next, hasNamedKeys);
  if (open !== undefined) return invalid(open, 'gateway.apiKeys');
  const [own] = ownAddresses(next);
  if (own !== undefined) return invalid(own.message, own.path);
  return { kind: 'planned', changes, config: next };
}

/** What is sent to an address alone, by the name of its setting. */
const SENT_TO: Readonly<Record<string, readonly string[]>> = {
  baseUrl: ['apiKey', 'headers'],
  engineUrl: ['engineApiKey'],
};

/** What was saved for addresses that the changes leave: another service must not get it. */
function boundTo(changes: readonly SettingChange[], config: Config): readonly Entry[] {
  const left = changes.filter(({ entry, value }) => {
    const before = valueAt(config, entry);
    return entry.key in SENT_TO && before !== null && originOf(before) !== originOf(value);
  });
  return left.flatMap(({ entry: { section, key } }) =>
    ENTRIES.filter(
      (each) =>
        each.section === section &&
        SENT_TO[key]?.includes(each.key) &&
        !isDeepStrictEqual(valueAt(config, each), each.setting.fallback),
    ),
  );
}

const originOf = (address: unknown) => URL.parse(String(address))?.origin;

/** Each setting takes the other's value, or the default where that is what holds. */
function planSwap(
  [a, b]: Slots,
  config: Config,
  sources: ReadonlyMap<string, SettingSource>,
): PatchPlan {
  const changes: SettingChange[] = [];
  for (const entry of ENTRIES.filter(({ section }) => section === a || section === b)) {
    const held = heldByEnvironment(entry, sources);
    if (held !== null) return held;
    const section = entry.section === a ? b : a;
    const from = ENTRIES.find((each) => each.section === section && each.key === entry.key);
    if (from === undefined) continue;
    const isSet = (sources.get(from.path) ?? 'default') !== 'default';
    changes.push({ entry, value: isSet ? valueAt(config, from) : undefined });
  }
  return { kind: 'planned', changes, config: changes.reduce(withChange, config) };
}

function problemWith(
  entry: Entry,
  value: unknown,
  sources: ReadonlyMap<string, SettingSource>,
): Refusal | null {
  const { path, setting } = entry;
  const held = heldByEnvironment(entry, sources);
  if (held !== null) return held;
  if (value === null || setting.kind.schema.safeParse(value).success) return null;
  return invalid(`'${path}' must be ${setting.kind.allowed}.`, path);
}

function heldByEnvironment(
  { path, variable }: Entry,
  sources: ReadonlyMap<string, SettingSource>,
): Refusal | null {
  if (sources.get(path) !== 'env') return null;
  const message = `'${path}' is set by ${variable}; change it there and restart.`;
  return { kind: 'refused', code: 'set_by_environment', message, param: path };
}

function withChange(config: Config, { entry, value }: SettingChange): Config {
  const section = entry.section as keyof Config;
  const settled = value === undefined ? entry.setting.fallback : value;
  return { ...config, [section]: { ...config[section], [entry.key]: settled } };
}

function invalid(message: string, param: string | null): Refusal {
  return { kind: 'refused', code: 'invalid_request', message, param };
}

/** The configuration as it may be shown: every setting with its value and source, secrets masked. */
export function settingsView(
  config: Config,
  sources: ReadonlyMap<string, SettingSource>,
): SettingsView {
  const view: Record<string, Record<string, SettingView>> = {};
  for (const entry of ENTRIES) {
    const { kind, fallback, meaning, secret, restart } = entry.setting;
    (view[entry.section] ??= {})[entry.key] = {
      value: masked(entry, valueAt(config, entry)),
      source: sources.get(entry.path) ?? 'default',
      env: entry.variable,
      kind: kind.name,
      default: fallback,
      allowed: kind.allowed,
      meaning,
      ...(kind.choices === undefined ? {} : { choices: kind.choices }),
      ...(secret ? { secret } : {}),
      ...(restart ? { restart } : {}),
    };
  }
  return view;
}

function masked({ setting: { kind, secret } }: Entry, value: unknown): unknown {
  if (value === null) return null;
  if (kind.name === 'headers') return maskHeaders(value as Readonly<Record<string, string>>);
  if (kind.name === 'address') return maskUrl(value as string);
  if (!secret) return value;
  return Array.isArray(value)
    ? (value as readonly string[]).map(maskSecret)
    : maskSecret(value as string);
}
