import type * as Electron from 'electron';
import type { Clock } from '../platform/clock.ts';
import { messageOf } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { createActions } from './actions.ts';
import { crashNotices } from './failures.ts';
import type { Host } from '../app/app.ts';
import { createKeyStorage, type Keychain, type KeyStorage } from './keychain.ts';
import type { LoginItem } from './login-item.ts';
import { appMenu, type SystemState, trayView } from './menus.ts';
import {
  childGone,
  createNotifier,
  lostKeys,
  noticesOf,
  type Notifier,
  pageGone,
} from './owner-notices.ts';
import { createSleepBlocker, followSleep, type AppExit } from './power.ts';
import type { JsonFile, Preferences } from './preferences.ts';
import { type ProcessStart, relaunchOptions, type TerminalCommand } from './command-line.ts';
import { foldFacts, runningRequests, type TrayFacts } from './tray-state.ts';
import { createTray, keepTray, type TrayPanel } from './tray.ts';
import {
  createUpdates,
  type UpdateDeps,
  type UpdateMeans,
  type UpdaterApi,
  type Updates,
} from './updates.ts';
import { createMainWindow } from './window.ts';

/** Of Electron, what the shell uses. */
export type ElectronApi = Pick<
  typeof Electron,
  | 'app'
  | 'BaseWindow'
  | 'BrowserWindow'
  | 'clipboard'
  | 'dialog'
  | 'Menu'
  | 'Notification'
  | 'powerMonitor'
  | 'powerSaveBlocker'
  | 'screen'
  | 'shell'
  | 'Tray'
>;

export interface ShellDeps extends ProcessStart {
  readonly electron: ElectronApi;
  readonly platform: NodeJS.Platform;
  readonly clock: Clock;
  readonly iconsDirectory: string;
  readonly trayPanel: TrayPanel;
  readonly loginItem: LoginItem;
  readonly terminalCommand: TerminalCommand | null;
  readonly preferences: Preferences;
  readonly crashFile: JsonFile;
  readonly updater: { readonly means: UpdateMeans; readonly load: () => Promise<UpdaterApi> };
  readonly logsDirectory: string;
  readonly savedWindow: JsonFile;
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
  const { host, log } = own;
  const ownOrigin = new URL(url).origin;
  let facts: TrayFacts = { ...host.snapshot(), machine: host.machine() };
  let phase: 'running' | 'quitting' = 'running';

  const window = createMainWindow({
    electron,
    iconsDirectory,
    ownOrigin,
    controlLink: () => host.controlLink(),
    canHide: () => keeper.isShown(),
    platform,
    saved: deps.savedWindow,
    log,
    onGone: () => notifier.say(pageGone()),
  });
  const keys = createKeyStorage({ host, keychain: own.keychain, preferences });
  const updates = openUpdates(deps, {
    inFlight: () => runningRequests(facts),
    end: () => endForUpdate(shell, end, log),
    startAgain: (why) => startAgain(why, deps, log),
    changed: () => tray.show(view()),
  });
  const view = () => trayView({ facts, phase, system: systemState(deps, keys, updates) }, act);
  const sleepBlocker = createSleepBlocker(electron.powerSaveBlocker);
  function follow(): void {
    notifier.update(noticesOf(facts));
    sleepBlocker.set(preferences.current().keepsAwake && runningRequests(facts) > 0);
    updates?.requestsChanged();
  }
  const act = createActions({
    ...deps,
    host,
    ownOrigin,
    facts: () => facts,
    window,
    keys,
    updates,
    onSettled: () => {
      facts = { ...host.snapshot(), machine: host.machine() };
      follow();
      tray.restore(view());
    },
  });
  const notifier = createNotifier({ Notification: electron.Notification, clock, act });
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
  electron.Menu.setApplicationMenu(electron.Menu.buildFromTemplate(appMenu(platform, act)));
  watchChildren(electron.app, log, notifier);
  followSleep({ powerMonitor: electron.powerMonitor, host, preferences, log });
  for (const notice of [...crashNotices(deps.crashFile, log), ...lostKeys(own.lostKeys)]) {
    notifier.say(notice);
  }
  follow();

  const shell = {
    window,
    /** Shows in the tray that it is quitting, lets running requests finish, then removes the tray. */
    async stop(graceMs?: number): Promise<void> {
      phase = 'quitting';
      tray.show(view());
      window.save();
      updates?.stop();
      notifier.stop();
      keeper.stop();
      sleepBlocker.set(false);
      try {
        await host.stop(graceMs);
      } finally {
        unsubscribe();
        tray.remove();
      }
    },
  };
  return shell;
}

/** Ends the app for the installer; without this its windows would only hide. */
async function endForUpdate(shell: Shell, end: AppExit, log: Log): Promise<void> {
  try {
    await shell.stop();
  } catch (error) {
    // What the gateway cannot save now, it could not save later either.
    log('error', 'not_stopped', { error: messageOf(error) });
  }
  shell.window.close();
  end.release();
}

/** Restarts after the app was stopped for an update that failed to install. */
function startAgain(why: string, deps: ShellDeps, log: Log): void {
  const { app } = deps.electron;
  log('error', 'update_failed', { why });
  app.relaunch(relaunchOptions(deps, []));
  app.exit(1);
}

/** Null for a build without an update address. */
function openUpdates(
  { updater: { means, load }, clock, preferences }: ShellDeps,
  shell: Pick<UpdateDeps, 'inFlight' | 'end' | 'startAgain' | 'changed'>,
): Updates | null {
  if (means === 'none') return null;
  const isAutomatic = () => preferences.current().looksForUpdates;
  return createUpdates({ means, load, clock, isAutomatic, ...shell });
}

function systemState(
  { loginItem, terminalCommand, preferences }: ShellDeps,
  keys: KeyStorage,
  updates: Updates | null,
): SystemState {
  const { keepsAwake, looksForUpdates: isAutomatic } = preferences.current();
  return {
    loginItem: loginItem.state(),
    hasTerminalCommand: terminalCommand?.isOn() ?? null,
    keyPlace: keys.place(),
    keepsAwake,
    updates:
      updates === null ? null : { means: updates.means, state: updates.state(), isAutomatic },
  };
}

function watchChildren(app: Electron.App, log: Log, notifier: Notifier): void {
  const reported = new Set<string>();
  app.on('child-process-gone', (_event, { type, reason, exitCode }) => {
    // Our own helpers are killed once they have answered.
    const isExpected = type === 'Utility' || reason === 'clean-exit' || reason === 'killed';
    log(isExpected ? 'debug' : 'error', 'child_process_gone', { type, reason, exitCode });
    if (isExpected || reported.has(type)) return;
    reported.add(type);
    notifier.say(childGone(type, reason));
  });
}
