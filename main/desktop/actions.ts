import { dirname } from 'node:path';
import type { AgentWish } from '#shared/agent.ts';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import type { ChangeResult } from '#shared/settings.ts';
import { messageOf } from '../platform/errors.ts';
import type { ElectronApi } from './electron-api.ts';
import type { HostApi } from './host-api.ts';
import type { LoginItem } from './login-item.ts';
import type { MenuAction } from './menus.ts';
import type { TrayFacts } from './serving-summary.ts';
import type { TerminalCommand } from './terminal-command.ts';
import { isOwnPage, type MainWindow } from './window.ts';

export interface ActionDeps {
  readonly electron: Pick<ElectronApi, 'app' | 'clipboard' | 'shell'>;
  readonly host: Pick<
    HostApi,
    'controlLink' | 'setWarmup' | 'setForceZero' | 'setMachine' | 'resetCircuit'
  >;
  readonly ownOrigin: string;
  readonly facts: () => TrayFacts;
  readonly window: MainWindow;
  readonly loginItem: LoginItem;
  readonly terminalCommand: TerminalCommand | null;
  readonly logsDirectory: string;
  /** Called after each change, failed or not, so that the tray shows the real state. */
  readonly onSettled: () => void;
}

/** Runs menu entries; a failure is shown in a message box. */
export function createActions(deps: ActionDeps): (action: MenuAction) => void {
  const { electron, host, facts, loginItem, logsDirectory, ownOrigin, window } = deps;

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
    // openExternal runs whatever the OS has registered for an address, so only our own page is passed to it.
    if (!isOwnPage(link, ownOrigin)) throw new Error(`Not the gateway's own address.`);
    await electron.shell.openExternal(link);
  }

  async function openLogs(): Promise<void> {
    const failure = await electron.shell.openPath(logsDirectory);
    if (failure !== '') throw new Error(`${logsDirectory}: ${failure}`);
  }

  const toggleLoginItem = async () => Promise.resolve(loginItem.set(loginItem.state() === 'off'));

  async function toggleTerminalCommand(): Promise<void> {
    const command = deps.terminalCommand;
    if (command === null) return;
    const isOn = !command.isOn();
    await Promise.resolve(command.set(isOn));
    if (isOn) window.show(readyCommand(command.file));
  }
  const setMachine = (wish: AgentWish) =>
    report('The machine did not change its mode', settle(host.setMachine(wish)));

  const runs: Readonly<Record<Exclude<MenuAction, `reset ${string}`>, () => void>> = {
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
    'toggle-login-item': () => report('Start at login was not changed', settle(toggleLoginItem())),
    'toggle-terminal-command': () =>
      report('The command was not changed', settle(toggleTerminalCommand())),
    about: () => electron.app.showAboutPanel(),
    quit: () => electron.app.quit(),
  };

  return (action) => {
    const id = UPSTREAM_IDS.find((each) => action === `reset ${each}`);
    if (id === undefined) {
      runs[action as keyof typeof runs]();
      return;
    }
    host.resetCircuit(id);
    deps.onSettled();
  };
}

const readyCommand = (file: string) => ({
  type: 'info' as const,
  message: 'The command "switchyard" is ready',
  detail: `Open a new terminal and try "switchyard status". If it is not found, add ${dirname(file)} to PATH.`,
});
