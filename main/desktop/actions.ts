import type * as Electron from 'electron';
import type { OwnerChoice } from '#shared/agent.ts';
import type { UpstreamId } from '#shared/ids.ts';
import type { ChangeResult } from '#shared/settings.ts';
import type { Host } from '../app/app.ts';
import { messageOf } from '../platform/errors.ts';
import type { KeyStorage } from './keychain.ts';
import type { LoginItem } from './login-item.ts';
import type { Preferences } from './preferences.ts';
import type { TrayFacts } from './tray-state.ts';
import { isOwnPage, type MainWindow, type WindowView } from './window.ts';

interface ActionDeps {
  readonly electron: Pick<typeof Electron, 'app' | 'clipboard' | 'shell'>;
  readonly host: Host;
  readonly ownOrigin: string;
  readonly facts: () => TrayFacts;
  readonly logsDirectory: string;
  readonly loginItem: LoginItem;
  readonly keys: KeyStorage;
  readonly preferences: Preferences;
  readonly window: MainWindow;
  /** Called after each change, failed or not, so that the tray shows the real state. */
  readonly onSettled: () => void;
}

/** What the entries of menus and the buttons of notices do; a failure is shown in a message box. */
export type Actions = ReturnType<typeof createActions>;

export function createActions(deps: ActionDeps) {
  const { electron, host, facts, logsDirectory, ownOrigin, window, loginItem, preferences } = deps;

  function report(title: string, action: Promise<void>): void {
    action.catch((error: unknown) =>
      window.show({ type: 'error', message: title, detail: messageOf(error) }),
    );
  }

  /** Reports a change that fails or is refused. */
  function change(title: string, does: () => Promise<ChangeResult | void> | void): void {
    report(title, settled(does));
  }

  async function settled(does: () => Promise<ChangeResult | void> | void): Promise<void> {
    try {
      const result = await does();
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

  return {
    copyBaseUrl: () =>
      report('The base URL was not copied', electron.clipboard.writeText(facts().app.baseUrl)),
    openWindow: (view?: WindowView) => window.open(view),
    openBrowser: () => report('The browser could not be opened', openBrowser()),
    openLogs: () => report('The logs could not be opened', openLogs()),
    setMachine: (choice: OwnerChoice) =>
      change("The machine's mode was not changed", () => host.setMachine(choice)),
    /** `forMin` is null for: until it is resumed. */
    freeMachine: (forMin: number | null) =>
      change("The machine's memory was not freed", () => host.freeMachine(forMin)),
    toggleWarmup: () =>
      change('Warm-up was not changed', () => host.setWarmup(!facts().app.warmupEnabled)),
    toggleZeroSpend: () =>
      change('Local only was not changed', () => host.setForceZero(!facts().status.forceZero)),
    reset: (id: UpstreamId) =>
      change('The upstream is not tried again', () => host.resetCircuit(id)),
    toggleLoginItem: () =>
      change('Start at login was not changed', () => loginItem.set(loginItem.state() === 'off')),
    toggleKeyPlace: () => change('The API keys were not moved', () => deps.keys.toggle()),
    toggle: (name: 'keepsAwake' | 'looksForUpdates') =>
      change('The choice was not kept', () =>
        preferences.change({ [name]: !preferences.current()[name] }),
      ),
    about: () => electron.app.showAboutPanel(),
    quit: () => electron.app.quit(),
  };
}
