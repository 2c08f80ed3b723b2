import { join } from 'node:path';
import type * as Electron from 'electron';
import type { UpstreamId } from '#shared/ids.ts';
import { codeOf, messageOf } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { Preferences } from './preferences.ts';

interface WindowDeps {
  readonly electron: Pick<typeof Electron, 'app' | 'BrowserWindow' | 'Menu' | 'dialog' | 'screen'>;
  readonly platform: NodeJS.Platform;
  readonly iconsDirectory: string;
  readonly ownOrigin: string;
  readonly controlLink: () => string;
  /**
   * Whether a hidden window could be opened again. Null: nothing runs behind the window, so closing really closes it.
   */
  readonly canHide: (() => Promise<boolean>) | null;
  readonly preferences: Preferences;
  readonly log: Log;
  /** Called when the page has crashed too often to be opened again. */
  readonly onGone: () => void;
}

/** A view of the page, by its route. */
export type WindowView =
  'settings' | `settings/${UpstreamId | 'about'}` | 'join' | 'providers/failed';

export type MainWindow = ReturnType<typeof createMainWindow>;

/** A page that crashes right after each reopening must not keep the machine busy. */
const MAX_REOPENINGS = 2;
const REOPENINGS_WINDOW_MS = 60_000;

/** The window shows the gateway's page, with its own control session. */
export function createMainWindow(deps: WindowDeps) {
  const { app, BrowserWindow, dialog, Menu, screen } = deps.electron;
  const { ownOrigin, canHide, log } = deps;
  let current: Electron.BrowserWindow | null = null;
  let isHiddenByUser = false;
  let reopenedAt: readonly number[] = [];

  const alive = () => (current === null || current.isDestroyed() ? null : current);

  function createWindow(view: WindowView | null, isOffered = false): Electron.BrowserWindow {
    const window = new BrowserWindow(windowOptions(deps.iconsDirectory));
    current = window;
    isHiddenByUser = false;
    guardContents(window.webContents, ownOrigin);
    window.once('ready-to-show', () => {
      if (isOffered && !window.isVisible()) window.minimize();
      else window.show();
    });
    followDock(window, app.dock);
    offerContextMenu(window, Menu);
    window.on('close', (event) => {
      if (canHide === null) return;
      event.preventDefault();
      void canHide().then((can) => hideOrMinimize(window, can));
    });
    // A crashed page stays blank, so a new window replaces it.
    window.webContents.on('render-process-gone', (_event, { reason, exitCode }) => {
      if (reason === 'clean-exit') return;
      log('error', 'page_gone', { reason, exitCode });
      replace(window);
    });
    window.loadURL(deps.controlLink()).then(
      () => (view === null ? undefined : goTo(window, ownOrigin, view)),
      (error: unknown) => reportFailedLoad(dialog, window, error),
    );
    return window;
  }

  function replace(window: Electron.BrowserWindow): void {
    const wasMinimized = window.isMinimized();
    const now = performance.now();
    reopenedAt = reopenedAt.filter((at) => now - at < REOPENINGS_WINDOW_MS);
    window.destroy();
    if (reopenedAt.length >= MAX_REOPENINGS) return deps.onGone();
    reopenedAt = [...reopenedAt, now];
    // A hidden window is replaced only when the user opens it, so that none appears unasked.
    if (wasMinimized) createWindow(null, true);
    else if (!isHiddenByUser) bringToFront();
  }

  async function hideOrMinimize(window: Electron.BrowserWindow, can: boolean): Promise<void> {
    if (window.isDestroyed()) return;
    if (!deps.preferences.current().isTrayExplained) {
      deps.preferences.change({ isTrayExplained: true });
      await showBox(dialog, window, can ? TRAY_BOX : NO_TRAY_BOX);
    }
    if (window.isDestroyed()) return;
    isHiddenByUser = can;
    if (can) window.hide();
    else window.minimize();
  }

  function bringToFront(view: WindowView | null = null): Electron.BrowserWindow {
    const window = alive();
    if (window === null) return createWindow(view);
    if (view !== null) goTo(window, ownOrigin, view);
    if (window.isMinimized()) window.restore();
    if (!window.isVisible() && !isReachable(window.getBounds(), screen)) window.center();
    isHiddenByUser = false;
    window.show();
    window.focus();
    // On macOS a click on the tray does not activate the app.
    if (deps.platform === 'darwin') app.focus({ steal: true });
    return window;
  }

  return {
    open: (view?: WindowView | null) => void bringToFront(view ?? null),
    /** Creates a minimised window if there is none: the only way to open it without a tray. */
    offer: () => void (alive() ?? createWindow(null, true)),
    show: (box: Box) => void showBox(dialog, bringToFront(), box),
    isShown: () => alive()?.isVisible() ?? false,
    /** Closes it for good; the user's click only hides it. */
    close: () => current?.destroy(),
  };
}

/** How much of a title bar must be visible to be dragged, in pixels. */
const GRIP = { width: 120, height: 32 };

/** False if the screen of a hidden window was unplugged. */
export function isReachable(
  bounds: Electron.Rectangle,
  screen: Pick<Electron.Screen, 'getDisplayMatching'>,
): boolean {
  const { workArea } = screen.getDisplayMatching(bounds);
  const left = Math.max(bounds.x, workArea.x);
  const right = Math.min(bounds.x + bounds.width, workArea.x + workArea.width);
  const bottom = bounds.y + GRIP.height;
  return (
    right - left >= GRIP.width && bounds.y >= workArea.y && bottom <= workArea.y + workArea.height
  );
}

/** A tray app without a window is not shown in the dock. */
function followDock(window: Electron.BrowserWindow, dock: Electron.App['dock']): void {
  window.on('show', () => void dock?.show());
  window.on('hide', () => dock?.hide());
  window.on('closed', () => dock?.hide());
}

/** For a right click in the page, for which Electron has no default menu. */
function offerContextMenu(
  { webContents }: Electron.BrowserWindow,
  Menu: typeof Electron.Menu,
): void {
  webContents.on('context-menu', (_event, { isEditable, selectionText }) => {
    if (isEditable) Menu.buildFromTemplate(EDIT_ITEMS).popup();
    else if (selectionText.trim() !== '') Menu.buildFromTemplate([{ role: 'copy' }]).popup();
  });
}

const EDIT_ITEMS: Electron.MenuItemConstructorOptions[] = [
  { role: 'cut' },
  { role: 'copy' },
  { role: 'paste' },
  { role: 'selectAll' },
];

export interface Box {
  readonly type: 'error' | 'info';
  readonly message: string;
  readonly detail: string;
}

async function showBox(
  dialog: Electron.Dialog,
  window: Electron.BrowserWindow,
  box: Box,
): Promise<void> {
  await dialog.showMessageBox(window, { ...box, buttons: ['OK'] });
}

async function reportFailedLoad(
  dialog: Electron.Dialog,
  window: Electron.BrowserWindow,
  error: unknown,
): Promise<void> {
  // A reload while the page loads aborts the first load, which is not a failure.
  if (window.isDestroyed() || codeOf(error) === 'ERR_ABORTED') return;
  window.show();
  await showBox(dialog, window, {
    type: 'error',
    message: 'The dashboard could not be loaded',
    detail: `${messageOf(error)}\n\nThe gateway keeps running. Try "Open dashboard" again, or "Open in browser".`,
  });
  window.destroy();
}

/** Changes only the fragment of the current page, so the session stays. */
function goTo(window: Electron.BrowserWindow, ownOrigin: string, view: WindowView): void {
  if (!window.isDestroyed()) window.loadURL(`${ownOrigin}/#/${view}`).catch(() => undefined);
}

const TRAY_BOX: Box = {
  type: 'info',
  message: 'Inglenook keeps running in the tray',
  detail: 'Apps can keep using it. To open this window again or to quit, use the icon in the tray.',
};

const NO_TRAY_BOX: Box = {
  type: 'info',
  message: 'Inglenook keeps running',
  detail:
    'Apps can keep using it. This desktop shows no tray icon, so the window is only minimised. To quit, use the menu "Gateway".',
};

const windowOptions = (iconsDirectory: string): Electron.BrowserWindowConstructorOptions => ({
  // Electron keeps place and size by this name, and moves them onto a screen that is there.
  name: 'main',
  windowStatePersistence: true,
  title: 'Inglenook',
  icon: join(iconsDirectory, 'app.png'),
  width: 1180,
  height: 800,
  minWidth: 420,
  minHeight: 400,
  show: false,
  webPreferences: {
    sandbox: true,
    contextIsolation: true,
    nodeIntegration: false,
    webSecurity: true,
    allowRunningInsecureContent: false,
    webviewTag: false,
    navigateOnDragDrop: false,
    // Chromium would fetch dictionaries from a third party.
    spellcheck: false,
  },
});

/** The page's only permission, for its Copy buttons. */
const GRANTED = 'clipboard-sanitized-write';

/** Keeps a page on the gateway's own origin, with one permission. */
function guardContents(contents: Electron.WebContents, ownOrigin: string): void {
  const preventLeaving = (navigation: { readonly url: string; preventDefault(): void }): void => {
    if (!isOwnPage(navigation.url, ownOrigin)) navigation.preventDefault();
  };
  contents.on('will-navigate', preventLeaving);
  contents.on('will-frame-navigate', preventLeaving);
  contents.on('will-redirect', preventLeaving);
  contents.on('will-attach-webview', (event) => event.preventDefault());
  contents.setWindowOpenHandler(() => ({ action: 'deny' }));

  const isGranted = (permission: string, page: string): boolean =>
    permission === GRANTED && isOwnPage(page, ownOrigin);
  contents.session.setPermissionCheckHandler((_contents, permission, origin) =>
    isGranted(permission, origin),
  );
  contents.session.setPermissionRequestHandler((_contents, permission, callback, details) =>
    callback(isGranted(permission, details.requestingUrl)),
  );
}

export function isOwnPage(address: string, ownOrigin: string): boolean {
  const url = URL.parse(address);
  if (url === null || url.username !== '' || url.password !== '') return false;
  // Two opaque origins would be equal: both serialise to "null".
  return url.origin !== 'null' && url.origin === ownOrigin;
}
