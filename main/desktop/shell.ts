import { createActions } from './actions.ts';
import type { ElectronApi } from './electron-api.ts';
import type { Addresses, HostApi } from './host-api.ts';
import type { LoginItem } from './login-item.ts';
import { appMenu } from './menu-bar.ts';
import { trayView } from './menus.ts';
import { foldFacts, type TrayFacts } from './serving-summary.ts';
import type { TerminalCommand } from './terminal-command.ts';
import { createTray } from './tray.ts';
import type { SavedWindowFile } from './window-bounds.ts';
import { createMainWindow, type MainWindow } from './window.ts';

/** As often as the live feed sends changes. */
const TRAY_INTERVAL_MS = 250;

export interface ShellDeps {
  readonly electron: ElectronApi;
  readonly platform: NodeJS.Platform;
  readonly iconsDirectory: string;
  readonly hasTrayPanel: () => Promise<boolean>;
  readonly loginItem: LoginItem;
  readonly terminalCommand: TerminalCommand | null;
  readonly logsDirectory: string;
  readonly savedWindow: SavedWindowFile;
}

/** Tray, menus and window around a running host. */
export interface Shell {
  readonly window: MainWindow;
  /** Shows in the tray that it is quitting, lets running requests finish, then removes the tray. */
  stop(graceMs?: number): Promise<void>;
}

/** Creates the tray and the menus; the window is created when it is first opened. */
export function openShell(
  deps: ShellDeps,
  host: HostApi,
  addresses: Addresses,
  onSessionEnd: () => void,
): Shell {
  const { electron, platform, iconsDirectory, hasTrayPanel, loginItem, logsDirectory } = deps;
  const ownOrigin = new URL(addresses.url).origin;
  let facts: TrayFacts = { ...host.snapshot(), machine: host.machine() };
  let phase: 'running' | 'quitting' = 'running';

  const window = createMainWindow({
    electron,
    iconsDirectory,
    ownOrigin,
    controlLink: () => host.controlLink(),
    hasTrayPanel,
    platform,
    saved: deps.savedWindow,
    onSessionEnd,
  });
  const view = () =>
    trayView({
      facts,
      phase,
      loginItem: loginItem.state(),
      hasTerminalCommand: deps.terminalCommand?.isOn() ?? null,
    });
  const act = createActions({
    electron,
    host,
    ownOrigin,
    facts: () => facts,
    window,
    loginItem,
    terminalCommand: deps.terminalCommand,
    logsDirectory,
    onSettled: () => {
      facts = { ...host.snapshot(), machine: host.machine() };
      tray.restore(view());
    },
  });
  const tray = createTray({ electron, platform, iconsDirectory, act }, view());
  const refresh = createThrottle(TRAY_INTERVAL_MS, () => tray.show(view()));
  const unsubscribe = host.subscribe((event) => {
    facts = foldFacts(facts, event, host.machine());
    refresh.request();
  });
  electron.Menu.setApplicationMenu(electron.Menu.buildFromTemplate(appMenu(platform, act)));

  return {
    window,
    async stop(graceMs) {
      phase = 'quitting';
      tray.show(view());
      window.save();
      try {
        await host.stop(graceMs);
      } finally {
        unsubscribe();
        refresh.stop();
        tray.remove();
      }
    },
  };
}

interface Throttle {
  request(): void;
  stop(): void;
}

/** Runs `act` at once, then at most once per interval; requests in between share one run at its end. */
function createThrottle(intervalMs: number, act: () => void): Throttle {
  let timer: NodeJS.Timeout | null = null;
  let isRequested = false;

  function run(): void {
    isRequested = false;
    timer = setTimeout(() => {
      timer = null;
      if (isRequested) run();
    }, intervalMs);
    act();
  }

  return {
    request() {
      if (timer === null) run();
      else isRequested = true;
    },
    stop() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      isRequested = false;
    },
  };
}
