import { dirname } from 'node:path';
import type { AgentWish } from '#shared/agent.ts';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import type { ChangeResult } from '#shared/settings.ts';
import { messageOf } from '../platform/errors.ts';
import type { ElectronApi } from './electron-api.ts';
import type { HostApi } from './host-api.ts';
import type { KeyStorage } from './keychain.ts';
import type { LoginItem } from './login-item.ts';
import type { MenuAction } from './menus.ts';
import type { Preferences } from './preferences.ts';
import type { TrayFacts } from './serving-summary.ts';
import type { TerminalCommand } from './command-line.ts';
import type { Updates } from './updates.ts';
import { isOwnPage, type MainWindow } from './window.ts';

interface ActionDeps extends SystemActionDeps {
  readonly electron: Pick<ElectronApi, 'app' | 'clipboard' | 'shell'>;
  readonly host: Pick<
    HostApi,
    'controlLink' | 'setWarmup' | 'setForceZero' | 'setMachine' | 'resetCircuit'
  >;
  readonly ownOrigin: string;
  readonly facts: () => TrayFacts;
  readonly logsDirectory: string;
}

/** Runs menu entries; a failure is shown in a message box. */
export function createActions(deps: ActionDeps): (action: MenuAction) => void {
  const { electron, host, facts, logsDirectory, ownOrigin, window } = deps;

  function report(title: string, action: Promise<void>): void {
    action.catch((error: unknown) =>
      window.show({
        type: 'error',
        message: title,
        detail: messageOf(error),
      }),
    );
  }

  async function settle(change: Promise<ChangeResult | void>): Promise<void> {
    try {
      const result = await change;
      if (result?.ok === false) throw new Error(result.message);
    } finally {
      deps.onSettled();
    }
  }

  async function openBrowser(): Promise<void> {
    const link = host.controlLink();
    // openExternal runs whatever program the OS has registered for an address, so it only gets our own page.
    if (!isOwnPage(link, ownOrigin)) throw new Error(`Not the gateway's own address.`);
    await electron.shell.openExternal(link);
  }

  async function openLogs(): Promise<void> {
    const failure = await electron.shell.openPath(logsDirectory);
    if (failure !== '') throw new Error(`${logsDirectory}: ${failure}`);
  }

  const setMachine = (wish: AgentWish) =>
    report("The machine's mode was not changed", settle(host.setMachine(wish)));

  const runs: Readonly<Record<Exclude<MenuAction, `${string} ${string}`>, () => void>> = {
    'copy-base-url': () =>
      report('The base URL was not copied', electron.clipboard.writeText(facts().app.baseUrl)),
    'open-window': () => window.open(),
    'open-settings': () => window.open('settings'),
    'join-gateway': () => window.open('join'),
    'open-browser': () => report('The browser could not be opened', openBrowser()),
    'open-logs': () => report('The logs could not be opened', openLogs()),
    pause: () => setMachine('paused'),
    drain: () => setMachine('drained'),
    resume: () => setMachine('on'),
    'toggle-warmup': () =>
      report('Warm-up was not changed', settle(host.setWarmup(!facts().app.warmupEnabled))),
    'toggle-zero-spend': () =>
      report(
        'Zero-spend mode was not changed',
        settle(host.setForceZero(!facts().status.forceZero)),
      ),
    'open-diagnostics': () => window.open('settings/about'),
    'open-failed-machines': () => window.open('providers/failed'),
    ...createSystemActions(deps, (title, change) => report(title, settle(change))),
    about: () => electron.app.showAboutPanel(),
    quit: () => electron.app.quit(),
  };

  return (action) => {
    for (const id of UPSTREAM_IDS) {
      if (action === `configure ${id}`) {
        window.open(`settings/${id}`);
        return;
      }
      if (action === `reset ${id}`) {
        host.resetCircuit(id);
        deps.onSettled();
        return;
      }
    }
    runs[action as keyof typeof runs]();
  };
}

interface SystemActionDeps {
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
function createSystemActions(
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
