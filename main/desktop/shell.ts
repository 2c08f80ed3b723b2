import { createActions } from './actions.ts';
import type { Addresses, ElectronApi, HostApi } from './electron-api.ts';
import { appMenu, trayView } from './menus.ts';
import { foldFacts, type TrayFacts } from './serving-summary.ts';
import { createTray } from './tray.ts';
import { createMainWindow, type MainWindow } from './window.ts';

/** As often as the live feed sends changes. */
const TRAY_INTERVAL_MS = 250;

interface ShellDeps {
  readonly electron: ElectronApi;
  readonly platform: NodeJS.Platform;
  readonly iconsDirectory: string;
  readonly hasTrayPanel: () => Promise<boolean>;
}

/** Tray, menus and window around a running host. */
export interface Shell {
  readonly window: MainWindow;
  /** Shows in the tray that it is quitting, lets running requests finish, then removes the tray. */
  stop(): Promise<void>;
}

/** Creates the tray and the menus; the window is created when it is first opened. */
export function openShell(deps: ShellDeps, host: HostApi, addresses: Addresses): Shell {
  const { electron, platform, iconsDirectory, hasTrayPanel } = deps;
  const ownOrigin = new URL(addresses.url).origin;
  let facts: TrayFacts = host.snapshot();
  let phase: 'running' | 'quitting' = 'running';

  const window = createMainWindow({
    electron,
    iconsDirectory,
    ownOrigin,
    controlLink: () => host.controlLink(),
    hasTrayPanel,
  });
  const act = createActions({
    electron,
    host,
    ownOrigin,
    facts: () => facts,
    window,
    onWarmupSettled: () => {
      facts = host.snapshot();
      tray.restore(trayView(facts, phase));
    },
  });
  const tray = createTray({ electron, platform, iconsDirectory, act }, trayView(facts, phase));
  const refresh = createThrottle(TRAY_INTERVAL_MS, () => tray.show(trayView(facts, phase)));
  const unsubscribe = host.subscribe((event) => {
    facts = foldFacts(facts, event);
    refresh.request();
  });
  electron.Menu.setApplicationMenu(electron.Menu.buildFromTemplate(appMenu(platform, act)));

  return {
    window,
    async stop() {
      phase = 'quitting';
      tray.show(trayView(facts, phase));
      try {
        await host.stop();
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
