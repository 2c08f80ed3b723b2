import { mkdirSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isObject } from '../platform/json.ts';
import { asideName, readTextFile, replaceFiles } from '../platform/files.ts';
import { ENTRIES, type SettingChange } from './schema.ts';
import type { SecretBox } from '../platform/secrets.ts';

export type SettingsTree = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** `settings.json` for what the window edits, `secrets.json` for keys; both readable by the owner alone. */
const FILES = { settings: 'settings.json', secrets: 'secrets.json' } as const;

interface FileContents {
  readonly tree: SettingsTree;
  readonly warnings: readonly string[];
}

export interface SavedSettings extends FileContents {
  /** Paths of the secrets that the box has decrypted. */
  readonly sealed: ReadonlySet<string>;
  /** Paths of the secrets that could not be decrypted; they count as not set, and stay in the file. */
  readonly lost: readonly string[];
}

/**
 * Reads both settings files; without a box, sealed secrets are lost. A file that is not a JSON object, or holds a
 * value that is not allowed, is set aside as `<name>.bad-<time>` with a warning, so that the app starts and nothing
 * is lost.
 */
export function readSettings(
  directory: string,
  nowMs: number,
  box: SecretBox | null = null,
): SavedSettings {
  const settings = readOne(directory, FILES.settings, nowMs);
  const secrets = readOne(directory, FILES.secrets, nowMs);
  const { tree, sealed, lost } = unsealed(secrets.tree, box);
  return {
    tree: merge(settings.tree, tree),
    warnings: [...settings.warnings, ...secrets.warnings, ...lost.map(lostText)],
    sealed,
    lost,
  };
}

const lostText = (path: string) =>
  `${path} is encrypted with a keychain key that is not available here: enter it again. The app's menu can keep keys in the file instead.`;

/** As `secrets.json` holds a sealed value. */
const isSealed = (value: unknown): value is { readonly sealed: string } =>
  isObject(value) && typeof value['sealed'] === 'string';

function unsealed(
  tree: SettingsTree,
  box: SecretBox | null,
): Pick<SavedSettings, 'tree' | 'sealed' | 'lost'> {
  const plain: Record<string, Record<string, unknown>> = {};
  const sealed = new Set<string>();
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
  const parts = [
    { path: join(directory, FILES.secrets), changes: changes.filter(isSecret).map(stored) },
    {
      path: join(directory, FILES.settings),
      changes: changes.filter((change) => !isSecret(change)),
    },
  ];
  replaceFiles(
    parts
      .filter((part) => part.changes.length > 0)
      .map((part) => ({ path: part.path, text: textWith(part.path, part.changes) })),
  );
}

function textWith(path: string, changes: readonly SettingChange[]): string {
  const before = readJson(path);
  // Broken by hand while the app runs. Nothing in it is lost: the next start sets the file aside.
  if (before.problem !== null) throw new Error(`${basename(path)}: ${before.problem}`);
  let { tree } = before;
  for (const { entry, value } of changes) {
    // A value that is undefined is left out of JSON: the default holds again.
    tree = merge(tree, { [entry.section]: { [entry.key]: value } });
  }
  return `${JSON.stringify(tree, null, 2)}\n`;
}

function readOne(directory: string, name: string, nowMs: number): FileContents {
  const file = join(directory, name);
  const { tree, problem: unreadable } = readJson(file);
  const problem = unreadable ?? firstProblem(tree);
  if (problem === null) return { tree, warnings: [] };
  const aside = asideName(name, nowMs);
  renameSync(file, join(directory, aside));
  return {
    tree: {},
    warnings: [`${name} was set aside as ${aside} and is not used: ${problem}`],
  };
}

/** `problem` is why the file cannot be read; null if it can, or is missing. */
function readJson(file: string): {
  readonly tree: SettingsTree;
  readonly problem: string | null;
} {
  const text = readTextFile(file) ?? '{}';
  try {
    // Windows' editors begin a file with a byte order mark.
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    if (isTree(value)) return { tree: value, problem: null };
    return { tree: {}, problem: 'it is not an object of sections' };
  } catch {
    // The parser's message would quote the file, and the file may hold keys.
    return { tree: {}, problem: 'it is not valid JSON' };
  }
}

function isTree(value: unknown): value is SettingsTree {
  return isObject(value) && Object.values(value).every(isObject);
}

function firstProblem(tree: SettingsTree): string | null {
  const bad = ENTRIES.find(({ section, key, setting }) => {
    const value = tree[section]?.[key];
    if (setting.secret && isSealed(value)) return false;
    return value !== undefined && value !== null && !setting.kind.schema.safeParse(value).success;
  });
  return bad === undefined ? null : `${bad.path} must be ${bad.setting.kind.allowed}`;
}

function merge(a: SettingsTree, b: SettingsTree): SettingsTree {
  const merged: Record<string, Record<string, unknown>> = {};
  for (const section of new Set([...Object.keys(a), ...Object.keys(b)])) {
    merged[section] = { ...a[section], ...b[section] };
  }
  return merged;
}
