import type { SettingsView, SettingView } from '#shared/settings.ts';
import { ENTRIES } from '../config/schema.ts';
import { command } from './running-app.ts';

/** Prints settings of the running Switchyard: all, a section, or one. */
export async function getSettings(dataDirectory: string, path: string | null): Promise<void> {
  const body = await command(dataDirectory, { method: 'GET', path: 'settings' });
  if (body === null) return;
  const lines = linesOf(body as SettingsView, path);
  if (lines.length > 0) say(lines);
  else refuse(`There is no setting '${path}'. "switchyard get" lists them all.`);
}

/** Changes one setting of the running Switchyard, and prints its new value. */
export async function setSetting(
  dataDirectory: string,
  path: string,
  value: string,
): Promise<void> {
  const tree = treeOf(path, value);
  if (tree === null) {
    refuse(`'${path}' is not a setting: write section and name, as in agent.onlyWhenIdle.`);
    return;
  }
  const body = await command(dataDirectory, { method: 'PATCH', path: 'settings', json: tree });
  if (body !== null) say(linesOf(body as SettingsView, path));
}

/** The change as the API takes it, the text parsed like an environment variable; null if the path has no section. */
function treeOf(path: string, text: string): object | null {
  const dot = path.indexOf('.');
  if (dot <= 0) return null;
  const kind = ENTRIES.find((entry) => entry.path === path)?.setting.kind;
  // Unknown settings are sent too: the running gateway may be newer, and otherwise explains the error.
  const value = text === 'default' ? null : (kind?.fromText(text) ?? text);
  return { [path.slice(0, dot)]: { [path.slice(dot + 1)]: value } };
}

/** A line for each setting: path, value, source. */
function linesOf(view: SettingsView, filter: string | null): readonly string[] {
  return Object.entries(view).flatMap(([section, settings]) =>
    Object.entries(settings).flatMap(([key, setting]) => {
      const path = `${section}.${key}`;
      const isIncluded = filter === null || filter === section || filter === path;
      return isIncluded ? [`${path} = ${shown(setting.value)} (${SOURCES[setting.source]})`] : [];
    }),
  );
}

const SOURCES: Readonly<Record<SettingView['source'], string>> = {
  env: 'set by the environment',
  file: 'set',
  default: 'default',
};

function shown(value: unknown): string {
  if (value === null) return 'none';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(',');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function say(lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

function refuse(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
