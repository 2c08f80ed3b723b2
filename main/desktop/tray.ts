import { execFile } from 'node:child_process';
import { join } from 'node:path';
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
  let tray = make(first);
  let shown: { readonly view: TrayView; readonly key: string; readonly menu: Electron.Menu };
  let isMenuOpen = false;
  let held: TrayView | null = null;

  function make({ shape }: TrayView): Electron.Tray {
    const made = new Tray(iconPath(deps, shape));
    // On Windows a left click does nothing by default; elsewhere it opens the menu or never arrives.
    if (deps.platform === 'win32') made.on('click', deps.openWindow);
    return made;
  }

  function put(view: TrayView): void {
    const key = keyOf(view);
    const menu = Menu.buildFromTemplate(view.items);
    if (deps.platform !== 'linux') watch(menu);
    tray.setToolTip(`Inglenook: ${visible(view.line)}`);
    tray.setContextMenu(menu);
    shown = { view, key, menu };
  }

  // On macOS and Windows replacing an open menu closes it under the pointer. On Linux an open menu is updated in place,
  // and its closing is not always reported.
  function watch(menu: Electron.Menu): void {
    menu.on('menu-will-show', () => {
      isMenuOpen = true;
    });
    menu.on('menu-will-close', () => {
      isMenuOpen = false;
      const waiting = held;
      held = null;
      // After the event: the click on the item that closed the menu has not been delivered yet.
      if (waiting !== null) setImmediate(show, waiting);
    });
  }

  function show(view: TrayView): void {
    if (isMenuOpen) {
      held = view;
      return;
    }
    const before = shown;
    if (before.key === keyOf(view)) return;
    if (before.view.shape !== view.shape) tray.setImage(iconPath(deps, view.shape));
    put(view);
  }

  put(first);
  return {
    /** Does nothing if this view is already shown. */
    show,
    /** Shows this view even if it is unchanged: a clicked checkbox has toggled itself. */
    restore: put,
    renew() {
      tray.destroy();
      tray = make(shown.view);
      put(shown.view);
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
 * Chromium looks for a panel only when the icon is created (status_icon_linux_dbus.cc): a panel that starts later would
 * not show it until the app restarts.
 */
export function keepTray({ panel, clock, renew, onNone }: TrayKeeperDeps) {
  let isStopped = false;
  let cancel = () => {};

  async function isShown(): Promise<boolean> {
    if (await panel.hasOurs()) return true;
    if ((await panel.isThere()) && !isStopped) renew();
    return false;
  }

  function checkAfter([pause, ...others]: readonly number[]): void {
    if (isStopped) return;
    if (pause === undefined) onNone();
    else cancel = clock.after(pause, () => void check(others));
  }

  async function check(others: readonly number[]): Promise<void> {
    if (!(await isShown())) checkAfter(others);
  }

  checkAfter(PAUSES_MS);
  return {
    /** If the panel is there without the icon, recreates it, so that it may be shown by the next call. */
    isShown,
    stop() {
      isStopped = true;
      cancel();
    },
  };
}

/** The part of a desktop that shows tray icons; Electron's Tray says nothing about it. */
export interface TrayPanel {
  /** Whether it would show an icon that is created now. */
  isThere(): Promise<boolean>;
  /** Whether it shows our icon. */
  hasOurs(): Promise<boolean>;
}

/** Resolves with a command's output; rejects if it fails or is missing. */
export type RunCommand = (command: string, args: readonly string[]) => Promise<string>;

const runCommand: RunCommand = (command, args) =>
  new Promise((resolve, reject) => {
    execFile(command, args, { timeout: 1000 }, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(error);
    });
  });

const ALWAYS: TrayPanel = {
  isThere: () => Promise.resolve(true),
  hasOurs: () => Promise.resolve(true),
};

const BUS = { name: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus' };
/** https://www.freedesktop.org/wiki/Specifications/StatusNotifierItem/StatusNotifierWatcher/ */
const WATCHER = { name: 'org.kde.StatusNotifierWatcher', path: '/StatusNotifierWatcher' };

/** `pid`: of the process that creates the icon. What cannot be determined counts as no. */
export function openTrayPanel(
  platform: NodeJS.Platform,
  pid: number,
  run: RunCommand = runCommand,
): TrayPanel {
  if (platform !== 'linux') return ALWAYS;

  async function ask(of: typeof BUS, method: string, words: readonly string[]): Promise<string> {
    const call = ['--session', '--print-reply', `--dest=${of.name}`, of.path, method];
    try {
      return await run('dbus-send', [...call, ...words.map((word) => `string:${word}`)]);
    } catch {
      return '';
    }
  }
  const askBus = (method: string, name: string) => ask(BUS, `${BUS.name}.${method}`, [name]);
  const read = (property: string) =>
    ask(WATCHER, 'org.freedesktop.DBus.Properties.Get', [WATCHER.name, property]);

  async function isThere(): Promise<boolean> {
    // The name first: a request for a property could make the bus start a watcher without a panel.
    if (!isTrue(await askBus('NameHasOwner', WATCHER.name))) return false;
    return isTrue(await read('IsStatusNotifierHostRegistered'));
  }

  return {
    isThere,
    async hasOurs() {
      if (!(await isThere())) return false;
      const owners = connectionsIn(await read('RegisteredStatusNotifierItems')).map((name) =>
        askBus('GetConnectionUnixProcessID', name),
      );
      return (await Promise.all(owners)).some((answer) => processIn(answer) === pid);
    },
  };
}

const isTrue = (answer: string): boolean => /\bboolean true\b/.test(answer);

/** An item is the name of its connection; some watchers add its path, after a slash or an at sign. */
function connectionsIn(answer: string): readonly string[] {
  const names = [...answer.matchAll(/string "([^"/@]+)/g)].map(([, name = '']) => name);
  return [...new Set(names)];
}

function processIn(answer: string): number | null {
  const [, pid] = /\buint32 (\d+)/.exec(answer) ?? [];
  return pid === undefined ? null : Number(pid);
}
