import { dirname } from 'node:path';
import type { KeyStorage } from './key-storage.ts';
import type { LoginItem } from './login-item.ts';
import type { MenuAction } from './menu-entry.ts';
import type { Preferences } from './preferences.ts';
import type { TerminalCommand } from './terminal-command.ts';
import type { Updates } from './updates.ts';
import type { MainWindow } from './window.ts';

export interface SystemActionDeps {
  readonly loginItem: LoginItem;
  readonly terminalCommand: TerminalCommand | null;
  readonly keys: KeyStorage;
  readonly preferences: Preferences;
  readonly updates: Updates | null;
  readonly window: MainWindow;
  /** Called after each change, failed or not, so that the tray shows the real state. */
  readonly onSettled: () => void;
}

type SystemAction = Extract<MenuAction, `toggle-${string}` | 'proceed-update'>;

/** The entries of system-menu.ts; `change` shows the title and the error if it fails. */
export function createSystemActions(
  deps: SystemActionDeps,
  change: (title: string, done: Promise<void>) => void,
): Readonly<Record<Exclude<SystemAction, 'toggle-warmup' | 'toggle-zero-spend'>, () => void>> {
  const { loginItem, keys, preferences } = deps;

  const toggleLoginItem = async () => Promise.resolve(loginItem.set(loginItem.state() === 'off'));

  async function toggleTerminalCommand(): Promise<void> {
    const command = deps.terminalCommand;
    if (command === null) return;
    const isOn = !command.isOn();
    await Promise.resolve(command.set(isOn));
    if (isOn) deps.window.show(readyCommand(command.file));
  }

  function toggle(name: 'keepsAwake' | 'looksForUpdates'): void {
    preferences.change({ [name]: !preferences.current()[name] });
    deps.onSettled();
  }

  return {
    'toggle-login-item': () => change('Start at login was not changed', toggleLoginItem()),
    'toggle-terminal-command': () => change('The command was not changed', toggleTerminalCommand()),
    'toggle-key-place': () => change('The API keys were not moved', keys.toggle()),
    'toggle-keep-awake': () => toggle('keepsAwake'),
    'toggle-update-checks': () => toggle('looksForUpdates'),
    'proceed-update': () => deps.updates?.proceed(),
  };
}

const readyCommand = (file: string) => ({
  type: 'info' as const,
  message: 'The command "switchyard" is ready',
  detail: `Open a new terminal and try "switchyard status". If it is not found, add ${dirname(file)} to PATH.`,
});
