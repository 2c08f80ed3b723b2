import type { MenuItemConstructorOptions } from 'electron';
import type { ClickedPlace } from './electron-api.ts';
import type { MenuAction } from './menus.ts';

type Item = MenuItemConstructorOptions;

/**
 * The menu bar: the tray's actions for desktops without a tray, without the links and developer entries of Electron's
 * default menu.
 */
export function appMenu(platform: NodeJS.Platform, act: (action: MenuAction) => void): Item[] {
  const gateway: Item[] = [
    { label: 'Copy base URL', accelerator: 'CmdOrCtrl+Shift+C', click: () => act('copy-base-url') },
    { label: 'Open in browser', click: () => act('open-browser') },
    { label: 'Join a gateway…', click: () => act('join-gateway') },
  ];
  const settings: Item = {
    label: 'Settings…',
    accelerator: 'CmdOrCtrl+,',
    click: () => act('open-settings'),
  };
  if (platform === 'darwin') {
    const own = { label: 'Switchyard', submenu: macEntries(settings) };
    return [own, FILE, ...PAGE_MENUS, { label: 'Gateway', submenu: gateway }, WINDOW];
  }
  const own: Item[] = [
    ...gateway,
    settings,
    { label: 'About Switchyard', click: () => act('about') },
    LINE,
    { label: 'Quit', accelerator: 'CmdOrCtrl+Q', click: () => act('quit') },
  ];
  return [{ label: 'Switchyard', submenu: own }, ...PAGE_MENUS, WINDOW];
}

/** The menu bar if the gateway runs in another process. */
export function attachedMenu(platform: NodeJS.Platform): Item[] {
  if (platform === 'darwin') return [{ role: 'appMenu' }, FILE, ...PAGE_MENUS, WINDOW];
  const own: Item[] = [{ label: 'Close', role: 'quit' }];
  return [{ label: 'Switchyard', submenu: own }, ...PAGE_MENUS, WINDOW];
}

/** For a right click in the page, for which Electron has no default menu. */
export function contextMenu({ isEditable, selectionText }: ClickedPlace): Item[] {
  if (isEditable)
    return [{ role: 'cut' }, { role: 'copy' }, { role: 'paste' }, { role: 'selectAll' }];
  return selectionText.trim() === '' ? [] : [{ role: 'copy' }];
}

const LINE: Item = { type: 'separator' };

/** Electron's default app menu, with an entry for the settings. */
const macEntries = (settings: Item): Item[] => [
  { role: 'about' },
  LINE,
  settings,
  LINE,
  { role: 'services' },
  LINE,
  { role: 'hide' },
  { role: 'hideOthers' },
  { role: 'unhide' },
  LINE,
  { role: 'quit' },
];

/** Holds "Close" on macOS; elsewhere the window menu does. */
const FILE: Item = { role: 'fileMenu' };

const WINDOW: Item = { role: 'windowMenu' };

const PAGE_MENUS: readonly Item[] = [
  { role: 'editMenu' },
  {
    label: 'View',
    submenu: [
      { role: 'reload' },
      LINE,
      { role: 'resetZoom' },
      { role: 'zoomIn' },
      { role: 'zoomOut' },
    ],
  },
];
