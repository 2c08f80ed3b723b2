import type { OwnerChoice } from '#shared/agent.ts';
import type { Host } from '../app/app.ts';
import { messageOf } from '../platform/errors.ts';
import type { KeyStorage } from './keychain.ts';
import type { ShellDeps } from './system.ts';
import type { TrayFacts } from './tray-state.ts';
import { isOwnPage, type MainWindow, type WindowView } from './window.ts';

interface ActionDeps extends ShellDeps {
  readonly host: Host;
  readonly ownOrigin: string;
  readonly facts: () => TrayFacts;
  readonly keys: KeyStorage;
  readonly window: MainWindow;
  /** Called after each change, failed or not, so that the tray shows the real state. */
  readonly onSettled: () => void;
}

/** What the entries of menus and the buttons of notices do; a failure is shown in a message box. */
export type Actions = ReturnType<typeof createActions>;

export function createActions(deps: ActionDeps) {
  const { electron, host, facts, logsDirectory, ownOrigin, window, loginItem, preferences } = deps;

  async function attempt(
    failure: string,
    does: () => ReturnType<Host['setForceZero']> | Promise<void> | void,
  ) {
    try {
      const result = await does();
      if (result && result.kind !== 'patched') throw new Error(result.message);
    } catch (error) {
      window.show({ type: 'error', message: failure, detail: messageOf(error) });
    } finally {
      deps.onSettled();
    }
  }
  const act = (...action: Parameters<typeof attempt>) => void attempt(...action);

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

  return {
    copyBaseUrl: () =>
      act('The base URL was not copied', () => electron.clipboard.writeText(facts().app.baseUrl)),
    openWindow: (view?: WindowView) => window.open(view),
    openBrowser: () => act('The browser could not be opened', openBrowser),
    openLogs: () => act('The logs could not be opened', openLogs),
    setMachine: (choice: OwnerChoice) =>
      act("The machine's mode was not changed", () => host.setMachine(choice)),
    freeMachine: () => act("The machine's memory was not freed", () => host.freeMachine()),
    toggleZeroSpend: () =>
      act('“Never spend money” was not changed', () =>
        host.setForceZero(!facts().status.forceZero),
      ),
    toggleLoginItem: () =>
      act('Start at login was not changed', () => loginItem?.set(!loginItem.isOn())),
    toggleKeyPlace: () => act('The API keys were not moved', () => deps.keys.toggle()),
    toggleUpdateCheck: () =>
      act('The choice was not kept', () =>
        preferences.change({ looksForUpdates: !preferences.current().looksForUpdates }),
      ),
    quit: () => electron.app.quit(),
  };
}
