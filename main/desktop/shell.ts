import { createActions } from './actions.ts';
import type { Addresses, ElectronApi, HostApi } from './electron-api.ts';
import { appMenu, trayView } from './menus.ts';
import { foldFacts, type TrayFacts } from './serving-summary.ts';
import { createTray } from './tray.ts';
import { createMainWindow, type MainWindow } from './window.ts';

/** No faster than a person reads, and no faster than the window itself. */
const TRAY_INTERVAL_MS = 250;

interface ShellDeps {
  readonly electron: ElectronApi;
  readonly platform: NodeJS.Platform;
  readonly iconsDirectory: string;
  readonly hasTrayPanel: () => Promise<boolean>;
}

/** Tray, menus and window around a host that runs. */
export interface Shell {
  readonly window: MainWindow;
  /** Says so in the tray, lets running requests finish, then takes the tray away. */
  stop(): Promise<void>;
}

/** Puts up the tray and the menus; the window is made when it is first opened. */
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

/** Runs `act` at once and then at most once per interval; what came meanwhile is one late run. */
interface Throttle {
  request(): void;
  stop(): void;
}

/** Makes a throttle around `act`. */
function createThrottle(intervalMs: number, act: () => void): Throttle {
  let timer: NodeJS.Timeout | null = null;
  let wanted = false;

  function run(): void {
    wanted = false;
    timer = setTimeout(() => {
      timer = null;
      if (wanted) run();
    }, intervalMs);
    act();
  }

  return {
    request() {
      if (timer === null) run();
      else wanted = true;
    },
    stop() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      wanted = false;
    },
  };
}
