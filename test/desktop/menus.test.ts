import type { MenuItemConstructorOptions } from 'electron';
import { describe, expect, test } from 'vitest';
import { settle, startDesktop } from './harness.ts';

type Items = readonly MenuItemConstructorOptions[];

/** What a menu offers: roles by their names, which Electron fills in, and our own entries by their labels. */
const outline = (items: Items): readonly unknown[] =>
  items.map(({ role, label, type, submenu }) => {
    const own = role ?? label ?? type;
    return Array.isArray(submenu) ? [own, outline(submenu)] : own;
  });

async function menuOf(platform: NodeJS.Platform, elsewhere?: string) {
  const desktop = await startDesktop({
    platform,
    ...(elsewhere === undefined ? {} : { elsewhere }),
  });
  return { desktop, items: desktop.appMenu()?.items ?? [] };
}

const VIEW = ['View', ['reload', 'separator', 'resetZoom', 'zoomIn', 'zoomOut']];

describe('the menu bar', () => {
  const OWN = ['Copy base URL', 'Open in browser', 'Join a gateway…', 'Settings…'];
  const EXIT = ['about', 'separator', 'quit'];

  test('the menu bar of macOS has what its keys need there: ⌘, ⌘H ⌘Q ⌘W ⌘C ⌘V ⌘M', async () => {
    const { items } = await menuOf('darwin');
    const menus = ['appMenu', 'fileMenu', ['Gateway', OWN], 'editMenu', VIEW, 'windowMenu'];
    expect(outline(items)).toEqual(menus);
  });

  test('the menu bar of Linux and Windows has the tray’s actions, for desktops without a tray', async () => {
    const { items } = await menuOf('linux');
    const menus = [['Gateway', [...OWN, ...EXIT]], 'editMenu', VIEW, 'windowMenu'];
    expect(outline(items)).toEqual(menus);
  });

  test('the menu bar of a window alone can copy, paste and close as well', async () => {
    const link = 'http://127.0.0.1:47900/#code=0f';
    const mac = await menuOf('darwin', link);
    expect(outline(mac.items)).toEqual(['appMenu', 'fileMenu', 'editMenu', VIEW, 'windowMenu']);
    const linux = await menuOf('linux', link);
    expect(outline(linux.items)).toEqual([['Gateway', EXIT], 'editMenu', VIEW, 'windowMenu']);
  });

  test.each(['darwin', 'linux', 'win32'] as const)(
    'the menu bar opens the settings by the usual key (%s)',
    async (platform) => {
      const { desktop, items } = await menuOf(platform);
      const own = items.find(({ label }) => label === 'Gateway');
      const entries = Array.isArray(own?.submenu) ? own.submenu : [];
      const settings = entries.find(({ label }) => label === 'Settings…');
      expect(settings?.accelerator).toBe('CmdOrCtrl+,');
      // Our handlers take none of the three arguments that Electron passes.
      (settings?.click as (() => void) | undefined)?.();
      await settle();
      expect(desktop.window().loaded.at(-1)).toBe('http://127.0.0.1:47900/#/settings');
    },
  );
});

test('a right click in the page offers what can be done there', async () => {
  const { window, menus } = await startDesktop();
  const click = (isEditable: boolean, selectionText: string) =>
    window().webContents.emit('context-menu', {}, { isEditable, selectionText });
  click(true, '');
  click(false, 'sk-1');
  click(false, ' \n');
  const opened = menus.filter(({ isOpened }) => isOpened);
  const offered = [['cut', 'copy', 'paste', 'selectAll'], ['copy']];
  expect(opened.map(({ items }) => outline(items))).toEqual(offered);
});
