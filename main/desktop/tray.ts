import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { ElectronApi, MenuApi } from './electron-api.ts';
import { menuTemplate, type TrayView, type Verb } from './menus.ts';
import type { TrayShape } from './serving-summary.ts';

interface TrayDeps {
  readonly electron: Pick<ElectronApi, 'Tray' | 'Menu'>;
  readonly platform: NodeJS.Platform;
  readonly iconsDirectory: string;
  readonly act: (verb: Verb) => void;
}

interface TrayIcon {
  /** Shows this view; nothing is touched when it is the one already shown. */
  show(view: TrayView): void;
  /** Shows this view although it looks the same: a clicked checkbox has flipped itself. */
  restore(view: TrayView): void;
  remove(): void;
}

/** Puts the icon into the tray. The caller must hold on to it: a collected Tray disappears. */
export function createTray(deps: TrayDeps, first: TrayView): TrayIcon {
  const { Tray, Menu } = deps.electron;
  const tray = new Tray(iconPath(deps, first.shape));
  // Left click does nothing on Windows by itself; elsewhere it opens the menu or never arrives.
  if (deps.platform === 'win32') tray.on('click', () => deps.act('open-window'));
  let shown: { readonly view: TrayView; readonly key: string; readonly menu: MenuApi };
  let isMenuOpen = false;
  let held: TrayView | null = null;

  function put(view: TrayView): void {
    const menu = Menu.buildFromTemplate(menuTemplate(view.entries, deps.act));
    if (deps.platform !== 'linux') watch(menu);
    tray.setToolTip(`Switchyard: ${view.line}`);
    tray.setContextMenu(menu);
    shown = { view, key: JSON.stringify(view), menu };
  }

  // Replacing an open menu closes it under the pointer on macOS and Windows. Linux is told of changes
  // while it is open, and does not always say when it closes.
  function watch(menu: MenuApi): void {
    menu.on('menu-will-show', () => {
      isMenuOpen = true;
    });
    menu.on('menu-will-close', () => {
      isMenuOpen = false;
      const waiting = held;
      held = null;
      // Not inside the event: the item that closed the menu has its click still to come.
      if (waiting !== null) setImmediate(() => api.show(waiting));
    });
  }

  const api: TrayIcon = {
    show(view) {
      if (isMenuOpen) {
        held = view;
        return;
      }
      const before = shown;
      if (before.key === JSON.stringify(view)) return;
      if (before.view.shape !== view.shape) tray.setImage(iconPath(deps, view.shape));
      put(view);
    },
    restore: put,
    remove: () => tray.destroy(),
  };
  put(first);
  return api;
}

/** macOS recolours template images; elsewhere the image is two-tone, for dark and light panels alike. */
function iconPath({ platform, iconsDirectory }: TrayDeps, shape: TrayShape): string {
  return join(iconsDirectory, platform === 'darwin' ? `${shape}Template.png` : `${shape}.png`);
}

const QUESTION = [
  '--session',
  '--print-reply',
  '--dest=org.freedesktop.DBus',
  '/org/freedesktop/DBus',
  'org.freedesktop.DBus.NameHasOwner',
  'string:org.kde.StatusNotifierWatcher',
];

/** Runs a command and gives its output; rejects when it fails or is absent. */
type Ask = (command: string, args: readonly string[]) => Promise<string>;

const ask: Ask = (command, args) =>
  new Promise((resolve, reject) => {
    execFile(command, args, { timeout: 1000 }, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(error);
    });
  });

/**
 * Whether somebody shows tray icons here. Linux may have no panel for them (GNOME without its
 * extension), and Electron's Tray does not tell; when it cannot be learnt, the answer is no.
 */
export async function hasTrayPanel(platform: NodeJS.Platform, run: Ask = ask): Promise<boolean> {
  if (platform !== 'linux') return true;
  try {
    return (await run('dbus-send', QUESTION)).includes('boolean true');
  } catch {
    return false;
  }
}
