import type { MenuItemConstructorOptions } from 'electron';
import type { MenuAction } from './menu-entry.ts';

/**
 * The menu bar: the tray's actions for desktops without a tray, and none of the links and developer entries of
 * Electron's default menu.
 */
export function appMenu(
  platform: NodeJS.Platform,
  act: (action: MenuAction) => void,
): MenuItemConstructorOptions[] {
  const own: MenuItemConstructorOptions[] = [
    { label: 'Copy base URL', accelerator: 'CmdOrCtrl+Shift+C', click: () => act('copy-base-url') },
    { label: 'Open in browser', click: () => act('open-browser') },
    { label: 'Join a gateway…', click: () => act('join-gateway') },
    { label: 'Settings…', accelerator: 'CmdOrCtrl+,', click: () => act('open-settings') },
    { label: 'About Switchyard', click: () => act('about') },
    { type: 'separator' },
    { label: 'Quit', accelerator: 'CmdOrCtrl+Q', click: () => act('quit') },
  ];
  return [
    // macOS titles the first menu with the app's name and looks for Hide and Services there.
    platform === 'darwin' ? { role: 'appMenu' } : { label: 'Switchyard', submenu: own },
    ...(platform === 'darwin' ? [{ label: 'Gateway', submenu: own.slice(0, 4) }] : []),
    ...PAGE_MENUS,
  ];
}

/** The menu bar of a window whose gateway runs in another process. */
export function attachedMenu(platform: NodeJS.Platform): MenuItemConstructorOptions[] {
  const app: MenuItemConstructorOptions =
    platform === 'darwin'
      ? { role: 'appMenu' }
      : { label: 'Switchyard', submenu: [{ label: 'Close', role: 'quit' }] };
  return [app, ...PAGE_MENUS];
}

const PAGE_MENUS: readonly MenuItemConstructorOptions[] = [
  { role: 'editMenu' },
  {
    label: 'View',
    submenu: [
      { role: 'reload' },
      { type: 'separator' },
      { role: 'resetZoom' },
      { role: 'zoomIn' },
      { role: 'zoomOut' },
    ],
  },
  { role: 'windowMenu' },
];
