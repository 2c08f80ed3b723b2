import { join } from 'node:path';
import { visible } from '#shared/visible.ts';
import type { ElectronApi, MenuApi, TrayApi } from './electron-api.ts';
import type { MenuAction } from './menu-entry.ts';
import { menuTemplate, type TrayView } from './menus.ts';
import type { TrayShape } from './serving-summary.ts';

interface TrayDeps {
  readonly electron: Pick<ElectronApi, 'Tray' | 'Menu'>;
  readonly platform: NodeJS.Platform;
  readonly iconsDirectory: string;
  readonly act: (verb: MenuAction) => void;
}

interface TrayIcon {
  /** Does nothing if this view is already shown. */
  show(view: TrayView): void;
  /** Shows this view even if it is unchanged: a clicked checkbox has toggled itself. */
  restore(view: TrayView): void;
  /** Recreates the icon with its current view. */
  renew(): void;
  remove(): void;
}

/** The caller must keep a reference: a garbage-collected Tray disappears. */
export function createTray(deps: TrayDeps, first: TrayView): TrayIcon {
  const { Tray, Menu } = deps.electron;
  let tray = make(first);
  let shown: { readonly view: TrayView; readonly key: string; readonly menu: MenuApi };
  let isMenuOpen = false;
  let held: TrayView | null = null;

  function make({ shape }: TrayView): TrayApi {
    const made = new Tray(iconPath(deps, shape));
    // On Windows a left click does nothing by default; elsewhere it opens the menu or never arrives.
    if (deps.platform === 'win32') made.on('click', () => deps.act('open-window'));
    return made;
  }

  function put(view: TrayView): void {
    const menu = Menu.buildFromTemplate(menuTemplate(view.entries, deps.act));
    if (deps.platform !== 'linux') watch(menu);
    tray.setToolTip(`Switchyard: ${visible(view.line)}`);
    tray.setContextMenu(menu);
    shown = { view, key: JSON.stringify(view), menu };
  }

  // On macOS and Windows replacing an open menu closes it under the pointer. On Linux an open menu is updated in place,
  // and its closing is not always reported.
  function watch(menu: MenuApi): void {
    menu.on('menu-will-show', () => {
      isMenuOpen = true;
    });
    menu.on('menu-will-close', () => {
      isMenuOpen = false;
      const waiting = held;
      held = null;
      // After the event: the click on the item that closed the menu has not been delivered yet.
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
    renew() {
      tray.destroy();
      tray = make(shown.view);
      put(shown.view);
    },
    remove: () => tray.destroy(),
  };
  put(first);
  return api;
}

/** macOS recolours template images; elsewhere the image is two-tone, for dark and light panels. */
function iconPath({ platform, iconsDirectory }: TrayDeps, shape: TrayShape): string {
  return join(iconsDirectory, platform === 'darwin' ? `${shape}Template.png` : `${shape}.png`);
}
