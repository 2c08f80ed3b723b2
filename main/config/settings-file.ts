import { mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isObject } from '../platform/json.ts';
import { asideName, readTextFile, replaceFiles } from '../platform/files.ts';
import { ENTRIES, type Entry, limitsSpending, type SettingChange } from './schema.ts';
import type { SecretBox } from '../platform/secrets.ts';

export type SettingsTree = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** `settings.json` for what the window edits, `secrets.json` for keys; both readable by the owner alone. */
const FILES = { settings: 'settings.json', secrets: 'secrets.json' } as const;

/** Reads both settings files, without what `setBadAside` would set aside; without a box, sealed secrets are lost. */
export function readSettings(directory: string, box: SecretBox | null = null) {
  const settings = sorted(join(directory, FILES.settings));
  const secrets = sorted(join(directory, FILES.secrets));
  const { tree, ...rest } = unsealed(secrets.good, box);
  return { tree: merge(settings.good, tree), ...rest, files: [settings, secrets] };
}

/**
 * Moves each value that is not allowed, or all of a file that is no JSON object, to `<name>.bad-<time>`, so that the app
 * starts, all else stays in force and nothing is lost. Returns a sentence for each; with a limit of spending, `held` ends it.
 */
export function setBadAside(files: readonly SortedFile[], held: string, nowMs: number) {
  return files.flatMap(({ path, good, bad, problems }) => {
    if (problems.length === 0) return [];
    const aside = asideName(path, nowMs);
    replaceFiles([
      { path: aside, text: bad === null ? readFileSync(path) : textOf(bad) },
      { path, text: textOf(good) },
    ]);
    return problems.map(({ what, why, unread }) => {
      const end = unread.some(limitsSpending) ? `; ${held}` : '';
      return `${what} was set aside as ${basename(aside)} and is not used: ${why}${end}`;
    });
  });
}

/** As `secrets.json` holds a sealed value. */
const isSealed = (value: unknown): value is { readonly sealed: string } =>
  isObject(value) && typeof value['sealed'] === 'string';

function unsealed(tree: SettingsTree, box: SecretBox | null) {
  const plain: Record<string, Record<string, unknown>> = {};
  /** Paths of the secrets that the box has decrypted. */
  const sealed = new Set<string>();
  /** Paths of those that could not be decrypted; they count as not set, and stay in the file. */
  const lost: string[] = [];
  for (const [section, keys] of Object.entries(tree)) {
    for (const [key, value] of Object.entries(keys)) {
      const path = `${section}.${key}`;
      const text = isSealed(value) ? (box?.open(path, value.sealed) ?? null) : null;
      if (isSealed(value) && text === null) {
        lost.push(path);
        continue;
      }
      if (text !== null) sealed.add(path);
      (plain[section] ??= {})[key] = text === null ? value : JSON.parse(text);
    }
  }
  return { tree: plain, sealed, lost };
}

/**
 * Writes changes, each file atomically and keeping unknown settings: secrets to `secrets.json`, sealed where there is
 * a box, everything else to `settings.json`. Throws the file system's error.
 */
export function writeSettings(
  directory: string,
  changes: readonly SettingChange[],
  box: SecretBox | null = null,
): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const isSecret = ({ entry }: SettingChange) => entry.setting.secret;
  const stored = ({ entry, value }: SettingChange): SettingChange => {
    if (box === null || value === undefined) return { entry, value };
    return { entry, value: { sealed: box.seal(entry.path, JSON.stringify(value)) } };
  };
  const plain = changes.filter((change) => !isSecret(change));
  const parts = [
    { path: join(directory, FILES.secrets), changes: changes.filter(isSecret).map(stored) },
    { path: join(directory, FILES.settings), changes: plain },
  ];
  replaceFiles(
    parts
      .filter((part) => part.changes.length > 0)
      .map((part) => ({ path: part.path, text: textOf(withChanges(part.path, part.changes)) })),
  );
}

const textOf = (tree: object) => `${JSON.stringify(tree, null, 2)}\n`;

function withChanges(path: string, changes: readonly SettingChange[]): Sections {
  const { sections, why } = readJson(path);
  // Broken by hand while the app runs. Nothing in it is lost: the next start sets the file aside.
  if (why !== null) throw new Error(`${basename(path)}: ${why}`);
  let tree = sections;
  for (const { entry, value } of changes) {
    // A value that is undefined is left out of JSON: the default holds again.
    tree = merge(tree, { [entry.section]: { [entry.key]: value } });
  }
  return tree;
}

/** As the file has them. */
type Sections = Readonly<Record<string, unknown>>;

interface SortedFile {
  readonly path: string;
  readonly good: SettingsTree;
  /** Null if it is all of the file, in whatever encoding. */
  readonly bad: Sections | null;
  readonly problems: readonly Problem[];
}

interface Problem {
  readonly what: string;
  readonly why: string;
  /** The settings that may have been there. */
  readonly unread: readonly Entry[];
}

/** The values in a file that can be used, and those that cannot. */
function sorted(path: string): SortedFile {
  const name = basename(path);
  const { sections, why: broken } = readJson(path);
  const own = ENTRIES.filter(({ setting }) => setting.secret || name === FILES.settings);
  const good: Record<string, Sections> = {};
  const bad: Record<string, unknown> = {};
  const problems: Problem[] = [];
  if (broken !== null) problems.push({ what: name, why: broken, unread: own });
  for (const [section, keys] of Object.entries(sections)) {
    if (!isObject(keys)) {
      bad[section] = keys;
      const what = `The section "${section}" of ${name}`;
      const unread = own.filter((entry) => entry.section === section);
      problems.push({ what, why: 'it is not an object of settings', unread });
      continue;
    }
    const unusable = ENTRIES.filter((entry) => entry.section === section && isBad(entry, keys));
    const badKeys = Object.fromEntries(unusable.map(({ key }) => [key, keys[key]]));
    good[section] = Object.fromEntries(
      Object.entries(keys).filter(([key]) => !Object.hasOwn(badKeys, key)),
    );
    if (unusable.length > 0) bad[section] = badKeys;
    for (const entry of unusable) {
      const why = `it must be ${entry.setting.kind.allowed}`;
      problems.push({ what: `${entry.path} in ${name}`, why, unread: [entry] });
    }
  }
  // What breaks a file must not let money be spent.
  const isHeld = problems.some(({ unread }) => unread.some(limitsSpending));
  if (isHeld) good['routing'] = { ...good['routing'], forceZero: true };
  return { path, good, bad: broken === null ? bad : null, problems };
}

/** What is in a file, if there is one; `why`: why its sections cannot be read. */
function readJson(file: string) {
  const text = readTextFile(file) ?? '{}';
  const broken = (why: string) => ({ sections: {}, why });
  try {
    // Windows' editors begin a file with a byte order mark.
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    if (!isObject(value)) return broken('it is not an object of sections');
    return { sections: value, why: null };
  } catch {
    // The parser's message would quote the file, and the file may hold keys.
    return broken('it is not valid JSON');
  }
}

function isBad({ key, setting }: Entry, keys: Sections): boolean {
  const value = keys[key] ?? null;
  if (value === null || (setting.secret && isSealed(value))) return false;
  return !setting.kind.schema.safeParse(value).success;
}

/** The values of `b` come over those of `a`, of which a section that is none has no values to keep. */
function merge<A extends Sections>(a: A, b: SettingsTree): A & SettingsTree {
  const merged = Object.entries(b).map(([section, keys]) => {
    const before = a[section];
    return [section, { ...(isObject(before) ? before : {}), ...keys }] as const;
  });
  return { ...a, ...Object.fromEntries(merged) };
}
