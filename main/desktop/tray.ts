import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type * as Electron from 'electron';
import type { TrayView } from './menus.ts';
import type { ShellDeps } from './system.ts';
import type { TrayShape } from './tray-state.ts';

/** On Linux each change of a tooltip lays out the whole menu again. */
const TOOLTIP_PAUSE_MS = 1000;

/** The caller must keep a reference: a garbage-collected Tray disappears. */
export function createTray(deps: ShellDeps, first: TrayView, openWindow: () => void) {
  const { Tray, Menu } = deps.electron;
  let shown = first;
  let tray = make();
  let cancelTooltip: (() => void) | null = null;

  function make(): Electron.Tray {
    const made = new Tray(iconPath(deps, shown.shape));
    // On macOS a left click opens the menu.
    if (deps.platform !== 'darwin') made.on('click', openWindow);
    return made;
  }

  function put(view: TrayView): void {
    shown = view;
    tray.setToolTip(view.tooltip);
    tray.setContextMenu(Menu.buildFromTemplate(view.items));
  }

  put(first);
  return {
    show(view: TrayView) {
      const before = shown;
      shown = view;
      if (before.shape !== view.shape) tray.setImage(iconPath(deps, view.shape));
      if (itemsOf(before) !== itemsOf(view)) return put(view);
      if (before.tooltip === view.tooltip) return;
      cancelTooltip ??= deps.clock.after(TOOLTIP_PAUSE_MS, () => {
        cancelTooltip = null;
        tray.setToolTip(shown.tooltip);
      });
    },
    /** Shows this view even if it is unchanged: a clicked checkbox has toggled itself. */
    restore: put,
    renew() {
      tray.destroy();
      tray = make();
      put(shown);
    },
    remove() {
      cancelTooltip?.();
      tray.destroy();
    },
  };
}

/** What can be seen of a menu, without what its items do. */
const itemsOf = (view: TrayView): string => JSON.stringify(view.items);

/** macOS recolours template images; elsewhere the image is two-tone, for dark and light panels. */
function iconPath({ platform, iconsDirectory }: ShellDeps, shape: TrayShape): string {
  return join(iconsDirectory, platform === 'darwin' ? `${shape}Template.png` : `${shape}.png`);
}

/** The pauses between checks after the start: at login the panel may appear half a minute after the app. */
const PAUSES_MS = [1000, 2000, 4000, 8000, 16_000] as const;

/**
 * Chromium looks for a panel only when the icon is created (status_icon_linux_dbus.cc): one that starts later would
 * not show it until the app restarts. `onNone`: there is no icon, and none is expected to appear.
 */
export function keepTray(
  { hasTrayPanel, clock }: Pick<ShellDeps, 'hasTrayPanel' | 'clock'>,
  renew: () => void,
  onNone: () => void,
) {
  let isThere = hasTrayPanel();
  let isStopped = false;
  let cancel = () => {};

  async function isShown(): Promise<boolean> {
    const wasThere = await isThere;
    isThere = hasTrayPanel();
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
/** Asks for the name first: a request for a property could make the bus start a watcher without a panel. */
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
): ShellDeps['hasTrayPanel'] {
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
