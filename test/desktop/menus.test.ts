import type { MenuItemConstructorOptions } from 'electron';
import { describe, expect, test } from 'vitest';
import { contextMenu } from '../../main/desktop/window.ts';
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
  test('the menu bar of macOS has what its keys need there: ⌘, ⌘H ⌘Q ⌘W ⌘C ⌘V ⌘M', async () => {
    const { items } = await menuOf('darwin');
    expect(outline(items)).toEqual([
      [
        'Inglenook',
        [
          'about',
          'separator',
          'Settings…',
          'separator',
          'services',
          'separator',
          'hide',
          'hideOthers',
          'unhide',
          'separator',
          'quit',
        ],
      ],
      'fileMenu',
      'editMenu',
      VIEW,
      ['Gateway', ['Copy base URL', 'Open in browser', 'Join a gateway…']],
      'windowMenu',
    ]);
  });

  test.each(['linux', 'win32'] as const)(
    'the menu bar of %s has the tray’s actions, for desktops without a tray',
    async (platform) => {
      const { items } = await menuOf(platform);
      expect(outline(items)).toEqual([
        [
          'Inglenook',
          [
            'Copy base URL',
            'Open in browser',
            'Join a gateway…',
            'Settings…',
            'About Inglenook',
            'separator',
            'Quit',
          ],
        ],
        'editMenu',
        VIEW,
        'windowMenu',
      ]);
    },
  );

  test('the menu bar of a window alone can copy, paste and close as well', async () => {
    const link = 'http://127.0.0.1:47900/#code=0f';
    const mac = await menuOf('darwin', link);
    expect(outline(mac.items)).toEqual(['appMenu', 'fileMenu', 'editMenu', VIEW, 'windowMenu']);
    const linux = await menuOf('linux', link);
    expect(outline(linux.items)).toEqual([['Inglenook', ['quit']], 'editMenu', VIEW, 'windowMenu']);
  });

  test.each(['darwin', 'linux', 'win32'] as const)(
    'the menu bar opens the settings by the usual key (%s)',
    async (platform) => {
      const { desktop, items } = await menuOf(platform);
      const [own] = items;
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

describe('right clicks in the page', () => {
  test.each<[string, Parameters<typeof contextMenu>[0], readonly string[]]>([
    ['in a field', { isEditable: true, selectionText: '' }, ['cut', 'copy', 'paste', 'selectAll']],
    ['on chosen text', { isEditable: false, selectionText: 'sk-1' }, ['copy']],
    ['elsewhere', { isEditable: false, selectionText: ' \n' }, []],
  ])('a right click %s offers what can be done there', (_where, given, roles) => {
    expect(contextMenu(given).map(({ role }) => role)).toEqual(roles);
  });

  test('a right click opens that menu, and none where there is nothing to offer', async () => {
    const { window, menus } = await startDesktop();
    const click = (isEditable: boolean) =>
      window().webContents.emit('context-menu', {}, { isEditable, selectionText: '' });
    click(false);
    click(true);
    const opened = menus.filter(({ isOpened }) => isOpened);
    expect(opened.map(({ items }) => outline(items))).toEqual([
      ['cut', 'copy', 'paste', 'selectAll'],
    ]);
  });
});
