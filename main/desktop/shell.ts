import type * as Electron from 'electron';
import type { Host } from '../app/app.ts';
import type { Clock } from '../platform/clock.ts';
import { messageOf } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { createActions } from './actions.ts';
import { relaunchArgs } from './command-line.ts';
import { crashNotices } from './failures.ts';
import { createKeyStorage, type Keychain } from './keychain.ts';
import type { LoginItem } from './login-item.ts';
import { appMenu, trayView } from './menus.ts';
import { createNotifier, lostKeys, noticesOf, pageGone } from './owner-notices.ts';
import { type AppExit, createSleepBlocker, followSleep } from './power.ts';
import type { JsonFile, Preferences } from './preferences.ts';
import { foldFacts, runningRequests, type TrayFacts } from './tray-state.ts';
import { createTray, keepTray, type TrayPanel } from './tray.ts';
import { createUpdates, type Updates, type UpdateSource } from './updates.ts';
import { createMainWindow } from './window.ts';

export interface ShellDeps {
  readonly electron: typeof Electron;
  readonly platform: NodeJS.Platform;
  /** The command line of this process, the program first. */
  readonly argv: readonly string[];
  readonly clock: Clock;
  readonly iconsDirectory: string;
  readonly trayPanel: TrayPanel;
  readonly loginItem: LoginItem;
  readonly preferences: Preferences;
  readonly crashFile: JsonFile;
  /** Null for a build without an update address. */
  readonly updater: UpdateSource | null;
  readonly logsDirectory: string;
}

/** The host of this process, and what was found while it was created. */
export interface OwnHost {
  readonly host: Host;
  readonly keychain: Keychain;
  /** Setting paths of the keys that the keychain cannot open. */
  readonly lostKeys: readonly string[];
  readonly log: Log;
}

/** Tray, menus and window around a running host. */
export type Shell = ReturnType<typeof openShell>;

/** Creates the tray and the menus; the window is created when it is first opened. */
export function openShell(
  deps: ShellDeps,
  own: OwnHost,
  { url }: { readonly url: string },
  end: AppExit,
) {
  const { electron, platform, clock, iconsDirectory, preferences } = deps;
  const { app, Menu, Notification, powerMonitor, powerSaveBlocker } = electron;
  const { host, log } = own;
  const ownOrigin = new URL(url).origin;
  const readFacts = (): TrayFacts => ({ ...host.snapshot(), machine: host.machine() });
  let facts = readFacts();
  let phase: 'running' | 'quitting' = 'running';

  const window = createMainWindow({
    electron,
    iconsDirectory,
    ownOrigin,
    controlLink: () => host.controlLink(),
    canHide: () => keeper.isShown(),
    platform,
    preferences,
    log,
    onGone: () => notifier.say(pageGone()),
  });
  const keys = createKeyStorage({ host, keychain: own.keychain, preferences });
  const updates = deps.updater === null ? null : openUpdates(deps.updater);
  const view = () => {
    const { keepsAwake, looksForUpdates } = preferences.current();
    const system = {
      loginItem: deps.loginItem.state(),
      keyPlace: keys.place(),
      keepsAwake,
      looksForUpdates,
      update: updates?.offered() ?? null,
    };
    return trayView({ facts, phase, system }, act);
  };
  const sleepBlocker = createSleepBlocker(powerSaveBlocker);
  function follow(): void {
    notifier.update(noticesOf(facts));
    sleepBlocker.set(preferences.current().keepsAwake && runningRequests(facts) > 0);
  }
  const act = createActions({
    ...deps,
    host,
    ownOrigin,
    facts: () => facts,
    window,
    keys,
    onSettled: () => {
      facts = readFacts();
      follow();
      tray.restore(view());
    },
  });
  const notifier = createNotifier({ Notification, clock, act });
  const openWindow = () => act.openWindow();
  const tray = createTray({ electron, platform, iconsDirectory, openWindow }, view());
  const keeper = keepTray({
    panel: deps.trayPanel,
    clock,
    renew: () => tray.renew(),
    onNone: () => window.offer(),
  });
  // The live feed sends at most four events a second.
  const unsubscribe = host.subscribe((event) => {
    facts = foldFacts(facts, event, host.machine());
    follow();
    tray.show(view());
  });
  Menu.setApplicationMenu(Menu.buildFromTemplate(appMenu(platform, act)));
  app.on('child-process-gone', (_event, gone) => {
    // Our own helpers are killed once they have answered.
    const isExpected = gone.type === 'Utility' || gone.reason === 'killed';
    log(isExpected ? 'debug' : 'error', 'child_process_gone', { ...gone });
  });
  followSleep({ powerMonitor, host, preferences, log });
  for (const notice of [...crashNotices(deps.crashFile, log), ...lostKeys(own.lostKeys)]) {
    notifier.say(notice);
  }
  follow();

  function openUpdates(source: UpdateSource): Updates {
    return createUpdates({
      ...source,
      clock,
      isAutomatic: () => preferences.current().looksForUpdates,
      // Without this, the windows would only hide before the installer.
      end: async () => {
        await end.forInstaller();
        window.close();
      },
      startAgain: (why) => {
        log('error', 'update_failed', { why });
        app.relaunch({ args: relaunchArgs(deps.argv, null) });
        app.exit(1);
      },
      changed: () => tray.show(view()),
    });
  }

  return {
    window,
    /** Shows in the tray that it is quitting, lets running requests finish, then removes the tray. */
    async stop(graceMs?: number): Promise<void> {
      phase = 'quitting';
      tray.show(view());
      updates?.stop();
      notifier.stop();
      keeper.stop();
      sleepBlocker.set(false);
      try {
        await host.stop(graceMs);
      } catch (error) {
        log('error', 'not_stopped', { error: messageOf(error) });
        throw error;
      } finally {
        unsubscribe();
        tray.remove();
      }
    },
  };
}
