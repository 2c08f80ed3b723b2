import type { Host } from '../app/app.ts';
import { messageOf } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { type Actions, createActions } from './actions.ts';
import { crashNotice } from './failures.ts';
import { createKeyStorage, type Keychain } from './keychain.ts';
import { appMenu, trayView } from './menus.ts';
import { createNotifier, lostKeys, noticesOf, PAGE_GONE } from './owner-notices.ts';
import { type AppExit, followSleep } from './power.ts';
import type { ShellDeps } from './system.ts';
import type { TrayFacts } from './tray-state.ts';
import { createTray, keepTray } from './tray.ts';
import { createUpdates } from './updates.ts';
import { createMainWindow } from './window.ts';

/** The host of this process, and what was found while it was created. */
export interface OwnHost {
  readonly host: Host;
  readonly keychain: Keychain;
  /** Setting paths of the keys that the keychain has not opened. */
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
  const { electron, platform, preferences } = deps;
  const { Menu } = electron;
  const { host, log } = own;
  const ownOrigin = new URL(url).origin;
  const readFacts = (): TrayFacts => ({ ...host.snapshot(), machine: host.machine() });
  // Read when it changes, because that asks the system.
  const readLoginItem = () => deps.loginItem?.isOn() ?? null;
  let facts = readFacts();
  let startsAtLogin = readLoginItem();
  let phase: 'running' | 'quitting' = 'running';

  const notifier = createNotifier(
    deps,
    () => noticesOf(facts),
    () => act,
  );
  const window = createMainWindow({
    ...deps,
    ownOrigin,
    controlLink: () => host.controlLink(),
    canHide: () => keeper.isShown(),
    log,
    onCrash: () => notifier.say(PAGE_GONE),
  });
  const changed = () => tray.show(view());
  const keys = createKeyStorage({ ...deps, ...own, changed });
  const updates = createUpdates(deps, {
    // Without this, the window would only hide before the installer.
    end: async () => {
      await end.forInstaller();
      window.close();
    },
    changed,
  });
  const act: Actions = createActions({
    ...deps,
    host,
    ownOrigin,
    facts: () => facts,
    window,
    keys,
    onSettled: () => {
      startsAtLogin = readLoginItem();
      facts = readFacts();
      tray.restore(view());
    },
  });
  const tray = createTray(deps, view(), () => act.openWindow());
  const keeper = keepTray(deps, () => tray.renew(), window.offer);
  // The live feed sends at most four events a second.
  const unsubscribe = host.subscribe(() => {
    facts = readFacts();
    changed();
  });
  Menu.setApplicationMenu(Menu.buildFromTemplate(appMenu(platform, act)));
  followSleep(deps, host);
  const crash = crashNotice(deps.crashFile, log);
  if (crash !== null) notifier.say(crash);
  if (own.lostKeys.length > 0) notifier.say(lostKeys(own.lostKeys));

  function view() {
    const { looksForUpdates } = preferences.current();
    const update = updates?.offered() ?? null;
    const system = { startsAtLogin, keys: keys.place(), looksForUpdates, update };
    return trayView({ facts, phase, system }, act);
  }

  return {
    window,
    /** Shows in the tray that it is quitting, lets running requests finish, then removes the tray. */
    async stop(graceMs?: number): Promise<void> {
      phase = 'quitting';
      tray.restore(view());
      for (const part of [updates, notifier, keeper, keys]) part?.stop();
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
