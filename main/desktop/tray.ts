import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type * as Electron from 'electron';
import { visible } from '#shared/visible.ts';
import type { Clock } from '../platform/clock.ts';
import type { TrayView } from './menus.ts';
import type { TrayShape } from './tray-state.ts';

interface TrayDeps {
  readonly electron: Pick<typeof Electron, 'Tray' | 'Menu'>;
  readonly platform: NodeJS.Platform;
  readonly iconsDirectory: string;
  readonly openWindow: () => void;
}

/** The caller must keep a reference: a garbage-collected Tray disappears. */
export function createTray(deps: TrayDeps, first: TrayView) {
  const { Tray, Menu } = deps.electron;
  let shown = first;
  let tray = make();
  let isMenuOpen = false;

  function make(): Electron.Tray {
    const made = new Tray(iconPath(deps, shown.shape));
    // On Windows a left click does nothing by default; elsewhere it opens the menu or never arrives.
    if (deps.platform === 'win32') made.on('click', deps.openWindow);
    return made;
  }

  function put(view: TrayView): void {
    shown = view;
    const menu = Menu.buildFromTemplate(view.items);
    if (deps.platform !== 'linux') watch(menu);
    tray.setToolTip(`Inglenook: ${visible(view.line)}`);
    tray.setContextMenu(menu);
  }

  // On macOS and Windows replacing an open menu closes it under the pointer. On Linux an open menu is updated in place,
  // and its closing is not always reported.
  function watch(menu: Electron.Menu): void {
    menu.on('menu-will-show', () => {
      isMenuOpen = true;
    });
    menu.on('menu-will-close', () => {
      isMenuOpen = false;
      // After the event: the click on the item that closed the menu has not been delivered yet.
      setImmediate(put, shown);
    });
  }

  put(first);
  return {
    /** Does nothing if this view is already shown. */
    show(view: TrayView) {
      if (keyOf(shown) === keyOf(view)) return;
      if (shown.shape !== view.shape) tray.setImage(iconPath(deps, view.shape));
      if (isMenuOpen) shown = view;
      else put(view);
    },
    /** Shows this view even if it is unchanged: a clicked checkbox has toggled itself. */
    restore: put,
    renew() {
      tray.destroy();
      tray = make();
      put(shown);
    },
    remove: () => tray.destroy(),
  };
}

/** What can be seen of a view; what its items do is no part of it. */
const keyOf = (view: TrayView): string => JSON.stringify(view);

/** macOS recolours template images; elsewhere the image is two-tone, for dark and light panels. */
function iconPath({ platform, iconsDirectory }: TrayDeps, shape: TrayShape): string {
  return join(iconsDirectory, platform === 'darwin' ? `${shape}Template.png` : `${shape}.png`);
}

/** Whether the desktop shows tray icons, about which Electron's Tray says nothing. */
export type TrayPanel = () => Promise<boolean>;

interface TrayKeeperDeps {
  readonly panel: TrayPanel;
  readonly clock: Clock;
  readonly renew: () => void;
  /** There is no icon, and none is expected to appear. */
  readonly onNone: () => void;
}

/** Between checks after the start: at login the panel may appear half a minute after the app. */
const PAUSES_MS = [1000, 2000, 4000, 8000, 16_000] as const;

/**
 * Chromium looks for a panel only when the icon is created (status_icon_linux_dbus.cc): one that starts later would
 * not show it until the app restarts.
 */
export function keepTray({ panel, clock, renew, onNone }: TrayKeeperDeps) {
  let isThere = panel();
  let isStopped = false;
  let cancel = () => {};

  async function isShown(): Promise<boolean> {
    const wasThere = await isThere;
    isThere = panel();
    if (!wasThere && (await isThere) && !isStopped) renew();
    return isThere;
  }

  async function check([pause, ...others]: readonly number[]): Promise<void> {
    if ((await isShown()) || isStopped) return;
    if (pause === undefined) onNone();
    else cancel = clock.after(pause, () => void check(others));
  }

  void check(PAUSES_MS);
  return {
    /** If a panel has appeared since the icon was created, recreates it there. */
    isShown,
    stop() {
      isStopped = true;
      cancel();
    },
  };
}

/** Resolves with a command's output; rejects if it fails or is missing. */
export type RunCommand = (command: string, args: readonly string[]) => Promise<string>;

const runCommand: RunCommand = async (command, args) =>
  (await promisify(execFile)(command, args, { timeout: 1000 })).stdout;

/** https://www.freedesktop.org/wiki/Specifications/StatusNotifierItem/StatusNotifierWatcher/ */
const WATCHER = 'org.kde.StatusNotifierWatcher';
/** The name first: a request for a property could make the bus start a watcher without a panel. */
const QUESTIONS = [
  ['org.freedesktop.DBus', '/', 'org.freedesktop.DBus.NameHasOwner', WATCHER],
  [
    WATCHER,
    '/StatusNotifierWatcher',
    'org.freedesktop.DBus.Properties.Get',
    WATCHER,
    'IsStatusNotifierHostRegistered',
  ],
] as const;

/** What cannot be determined counts as no panel. */
export function createTrayPanel(
  platform: NodeJS.Platform,
  run: RunCommand = runCommand,
): TrayPanel {
  if (platform !== 'linux') return () => Promise.resolve(true);
  return async () => {
    for (const [to, path, method, ...words] of QUESTIONS) {
      const call = ['--session', '--print-reply', `--dest=${to}`, path, method];
      const answer = await run('dbus-send', [
        ...call,
        ...words.map((word) => `string:${word}`),
      ]).catch(() => '');
      if (!/\bboolean true\b/.test(answer)) return false;
    }
    return true;
  };
}
