import type { SettingsView, SettingView } from '#shared/settings-view.ts';
import { budgetFault } from '#shared/services.ts';
import type { StatusReport } from '#shared/status.ts';
import { text as textFrom } from 'node:stream/consumers';
import { shownValue } from '../config/load.ts';
import { ENTRIES } from '../config/schema.ts';
import { answer, type CommandOutcome, EXIT, failed, type Input } from './command.ts';
import { ask } from './running-app.ts';
import { OWN_COMMAND } from '../platform/process.ts';

const SOURCES: Readonly<Record<SettingView['source'], string>> = {
  env: 'set by the environment',
  file: 'set',
  keychain: 'keychain',
  default: 'default',
};

const PATHS = ENTRIES.map(({ path }) => path);

/** Settings of the running Inglenook: all, one section, or one setting. */
export async function getSettings(input: Input): Promise<CommandOutcome> {
  const [path] = input.words;
  const asked = await ask<SettingsView>(input.dataDirectory, { method: 'GET', path: 'settings' });
  if (asked.kind === 'failed') return asked;
  const view = chosen(asked.body, path ?? null);
  if (Object.keys(view).length > 0) return answer(view, textOf(view));
  return failed(`There is no setting '${path}'.${hintFor(path ?? '')}`);
}

/** Changes one setting of the running Inglenook; the result is its new value. */
export async function setSetting(input: Input): Promise<CommandOutcome> {
  const { dataDirectory, words } = input;
  const [path = '', word = ''] = words;
  const value = word === '-' ? (await textFrom(process.stdin)).trim() : word;
  const tree = treeOf(path, value);
  if (tree === null) {
    const message = `'${path}' is not a setting: write section and name, as in agent.onlyWhenIdle.`;
    return failed(`${message}${hintFor(path)}`, EXIT.usage);
  }
  const call = { method: 'PATCH', path: 'settings', json: tree } as const;
  const asked = await ask<SettingsView>(dataDirectory, call);
  if (asked.kind === 'failed') {
    if (asked.exitCode === EXIT.notRunning) return asked;
    const hint = value === '' ? ' The value "default" unsets it.' : '';
    return failed(`${asked.message}${PATHS.includes(path) ? hint : hintFor(path)}`);
  }
  const view = chosen(asked.body, path);
  const isLater = Object.values(view).some((each) => Object.values(each).some((of) => of.restart));
  const notes = [...(isLater ? [AT_RESTART] : []), ...(await budgetNotes(dataDirectory, path))];
  return answer(view, textOf(view), { note: notes.length > 0 ? notes.join(' ') : null });
}

/** What is wrong with the budget of the upstream that has the setting. */
async function budgetNotes(dataDirectory: string, path: string): Promise<readonly string[]> {
  const asked = await ask<StatusReport>(dataDirectory, { method: 'GET', path: 'status' });
  const upstreams = asked.kind === 'failed' ? [] : asked.body.upstreams;
  const own = upstreams.find(({ id }) => path.startsWith(`${id}.`));
  return Object.values((own && budgetFault(own)) ?? {});
}

/** The settings that have this name in another section, or in other letters. */
function hintFor(path: string): string {
  const nameIn = (each: string) => each.slice(each.lastIndexOf('.') + 1).toLowerCase();
  const [near, ...others] = PATHS.filter((each) => nameIn(each) === nameIn(path));
  const isOne = near !== undefined && others.length === 0;
  return `${isOne ? ` Did you mean "${near}"?` : ''} "${OWN_COMMAND} get" lists them all.`;
}

const AT_RESTART = 'This takes effect when the gateway restarts.';

/** The body of the API call, with the text parsed like an environment variable; null if the path has no section. */
function treeOf(path: string, text: string): object | null {
  const dot = path.indexOf('.');
  if (dot <= 0) return null;
  const kind = ENTRIES.find((entry) => entry.path === path)?.setting.kind;
  // Unknown settings are sent too: the running gateway may be newer, and if not its error explains.
  const value = text === 'default' ? null : (kind?.fromText(text) ?? text);
  return { [path.slice(0, dot)]: { [path.slice(dot + 1)]: value } };
}

/** The settings of a section, or one setting; null: all. */
function chosen(view: SettingsView, filter: string | null): SettingsView {
  if (filter === null) return view;
  const sections = Object.entries(view).map(([section, settings]) => {
    const kept = Object.entries(settings).filter(
      ([key]) => filter === section || filter === `${section}.${key}`,
    );
    return [section, Object.fromEntries(kept)] as const;
  });
  return Object.fromEntries(sections.filter(([, kept]) => Object.keys(kept).length > 0));
}

/** A line for each setting: path, value, source. */
function textOf(view: SettingsView): string {
  return Object.entries(view)
    .flatMap(([section, settings]) =>
      Object.entries(settings).map(
        ([key, { value, source }]) =>
          `${section}.${key} = ${shownValue(value)} (${SOURCES[source]})`,
      ),
    )
    .join('\n');
}
