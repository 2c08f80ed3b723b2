import { assertNever } from '#shared/assert.ts';
import type { ElectronApi, HostApi } from './electron-api.ts';
import type { Verb } from './menus.ts';
import type { TrayFacts } from './serving-summary.ts';
import { isOwnPage, type MainWindow } from './window.ts';

export interface ActionDeps {
  readonly electron: Pick<ElectronApi, 'app' | 'clipboard' | 'shell'>;
  readonly host: Pick<HostApi, 'controlLink' | 'setWarmup'>;
  readonly ownOrigin: string;
  readonly facts: () => TrayFacts;
  readonly window: MainWindow;
  /** Called after each attempt to switch, so that what is shown is what the host holds. */
  readonly onWarmupSettled: () => void;
}

/** Does what a menu entry asks for, and says so in a box when it did not work. */
export function createActions(deps: ActionDeps): (verb: Verb) => void {
  const { electron, host } = deps;

  function attempt(title: string, doing: Promise<void>): void {
    doing.catch((error: unknown) =>
      deps.window.tell(title, error instanceof Error ? error.message : String(error)),
    );
  }

  async function openBrowser(): Promise<void> {
    const link = host.controlLink();
    // openExternal runs whatever the OS has registered for an address, so it gets only our own page.
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

  return (verb) => {
    switch (verb) {
      case 'copy-base-url': {
        const { baseUrl } = deps.facts().app;
        attempt('The base URL was not copied', electron.clipboard.writeText(baseUrl));
        break;
      }
      case 'open-window':
        deps.window.open();
        break;
      case 'open-browser':
        attempt('The browser could not be opened', openBrowser());
        break;
      case 'toggle-warmup':
        attempt('Warm-up was not changed', toggleWarmup());
        break;
      case 'quit':
        electron.app.quit();
        break;
      default:
        assertNever(verb, 'verb');
    }
  };
}
