import { dirname } from 'node:path';
import type { OwnerChoice } from '#shared/agent.ts';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import type { ChangeResult } from '#shared/settings.ts';
import { messageOf } from '../platform/errors.ts';
import type { ElectronApi } from './electron-api.ts';
import type { HostApi } from '../platform/host.ts';
import type { KeyStorage } from './keychain.ts';
import type { LoginItem } from './login-item.ts';
import type { MenuAction } from './menus.ts';
import type { Preferences } from './preferences.ts';
import type { TrayFacts } from './tray-state.ts';
import type { TerminalCommand } from './command-line.ts';
import type { Updates } from './updates.ts';
import { isOwnPage, type MainWindow } from './window.ts';

interface ActionDeps {
  readonly electron: Pick<ElectronApi, 'app' | 'clipboard' | 'shell'>;
  readonly host: Pick<
    HostApi,
    'controlLink' | 'setWarmup' | 'setForceZero' | 'setMachine' | 'freeMachine' | 'resetCircuit'
  >;
  readonly ownOrigin: string;
  readonly facts: () => TrayFacts;
  readonly logsDirectory: string;
  readonly loginItem: LoginItem;
  readonly terminalCommand: TerminalCommand | null;
  readonly keys: KeyStorage;
  readonly preferences: Preferences;
  readonly updates: Updates | null;
  readonly window: MainWindow;
  /** Called after each change, failed or not, so that the tray shows the real state. */
  readonly onSettled: () => void;
}

/** Runs menu entries; a failure is shown in a message box. */
export function createActions(deps: ActionDeps): (action: MenuAction) => void {
  const { electron, host, facts, logsDirectory, ownOrigin, window, loginItem, preferences } = deps;

  function report(title: string, action: Promise<void>): void {
    action.catch((error: unknown) =>
      window.show({ type: 'error', message: title, detail: messageOf(error) }),
    );
  }

  /** Reports a change that fails or is refused. */
  function change(title: string, done: Promise<ChangeResult | void>): void {
    report(title, settled(done));
  }

  async function settled(done: Promise<ChangeResult | void>): Promise<void> {
    try {
      const result = await done;
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

  const setMachine = (choice: OwnerChoice) =>
    change("The machine's mode was not changed", host.setMachine(choice));
  const freeMachine = (forMin: number | null) =>
    change("The machine's memory was not freed", host.freeMachine(forMin));

  const toggleLoginItem = async () => Promise.resolve(loginItem.set(loginItem.state() === 'off'));

  async function toggleTerminalCommand(): Promise<void> {
    const command = deps.terminalCommand;
    if (command === null) return;
    const isOn = !command.isOn();
    await Promise.resolve(command.set(isOn));
    if (isOn) window.show(readyCommand(command.file));
  }

  function toggle(name: 'keepsAwake' | 'looksForUpdates'): void {
    preferences.change({ [name]: !preferences.current()[name] });
    deps.onSettled();
  }

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
    free: () => freeMachine(null),
    'free-two-hours': () => freeMachine(120),
    'toggle-warmup': () =>
      change('Warm-up was not changed', host.setWarmup(!facts().app.warmupEnabled)),
    'toggle-zero-spend': () =>
      change('Local only was not changed', host.setForceZero(!facts().status.forceZero)),
    'open-diagnostics': () => window.open('settings/about'),
    'open-failed-machines': () => window.open('providers/failed'),
    'toggle-login-item': () => change('Start at login was not changed', toggleLoginItem()),
    'toggle-terminal-command': () => change('The command was not changed', toggleTerminalCommand()),
    'toggle-key-place': () => change('The API keys were not moved', deps.keys.toggle()),
    'toggle-keep-awake': () => toggle('keepsAwake'),
    'toggle-update-checks': () => toggle('looksForUpdates'),
    'proceed-update': () => deps.updates?.proceed(),
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

const readyCommand = (file: string) => ({
  type: 'info' as const,
  message: 'The command "switchyard" is ready',
  detail: `Open a new terminal and try "switchyard status". If it is not found, add ${dirname(file)} to PATH.`,
});
