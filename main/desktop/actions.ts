import { assertNever } from '#shared/assert.ts';
import type { ElectronApi, HostApi } from './electron-api.ts';
import type { MenuAction } from './menus.ts';
import type { TrayFacts } from './serving-summary.ts';
import { isOwnPage, type MainWindow } from './window.ts';

export interface ActionDeps {
  readonly electron: Pick<ElectronApi, 'app' | 'clipboard' | 'shell'>;
  readonly host: Pick<HostApi, 'controlLink' | 'setWarmup'>;
  readonly ownOrigin: string;
  readonly facts: () => TrayFacts;
  readonly window: MainWindow;
  /** Called after each change, failed or not, so that the tray shows the host's state. */
  readonly onWarmupSettled: () => void;
}

/** Runs menu entries; a failure is shown in a message box. */
export function createActions(deps: ActionDeps): (action: MenuAction) => void {
  const { electron, host } = deps;

  function report(title: string, action: Promise<void>): void {
    action.catch((error: unknown) =>
      deps.window.showError(title, error instanceof Error ? error.message : String(error)),
    );
  }

  async function openBrowser(): Promise<void> {
    const link = host.controlLink();
    // openExternal runs whatever the OS has registered for an address, so only our own page is passed to it.
    if (!isOwnPage(link, deps.ownOrigin)) throw new Error(`Not the gateway's own address.`);
    await electron.shell.openExternal(link);
  }

  async function toggleWarmup(): Promise<void> {
    try {
      const change = await host.setWarmup(!deps.facts().app.warmupEnabled);
      if (!change.ok) throw new Error(change.message);
    } finally {
      deps.onWarmupSettled();
    }
  }

  return (action) => {
    switch (action) {
      case 'copy-base-url': {
        const { baseUrl } = deps.facts().app;
        report('The base URL was not copied', electron.clipboard.writeText(baseUrl));
        break;
      }
      case 'open-window':
        deps.window.open();
        break;
      case 'open-browser':
        report('The browser could not be opened', openBrowser());
        break;
      case 'join-gateway':
        deps.window.open('join');
        break;
      case 'toggle-warmup':
        report('Warm-up was not changed', toggleWarmup());
        break;
      case 'quit':
        electron.app.quit();
        break;
      default:
        assertNever(action, 'action');
    }
  };
}
