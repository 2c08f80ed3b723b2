import type { MenuItemConstructorOptions } from 'electron';
import type { Verb } from './tray-menu.ts';

/**
 * The menu bar: the tray's actions once more, for desktops without a tray, and none of the links and
 * developer entries of Electron's default menu.
 */
export function appMenu(
  platform: NodeJS.Platform,
  act: (verb: Verb) => void,
): MenuItemConstructorOptions[] {
  const own: MenuItemConstructorOptions[] = [
    { label: 'Copy base URL', accelerator: 'CmdOrCtrl+Shift+C', click: () => act('copy-base-url') },
    { label: 'Open in browser', click: () => act('open-browser') },
    { type: 'separator' },
    { label: 'Quit', accelerator: 'CmdOrCtrl+Q', click: () => act('quit') },
  ];
  const view: MenuItemConstructorOptions[] = [
    { role: 'reload' },
    { type: 'separator' },
    { role: 'resetZoom' },
    { role: 'zoomIn' },
    { role: 'zoomOut' },
  ];
  return [
    // macOS titles the first menu with the app's name and looks for Hide and Services there.
    platform === 'darwin' ? { role: 'appMenu' } : { label: 'Switchyard', submenu: own },
    ...(platform === 'darwin' ? [{ label: 'Gateway', submenu: own.slice(0, 2) }] : []),
    { role: 'editMenu' },
    { label: 'View', submenu: view },
    { role: 'windowMenu' },
  ];
}
