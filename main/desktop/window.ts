import { join } from 'node:path';
import type * as Electron from 'electron';
import type { UpstreamId } from '#shared/ids.ts';
import { codeOf, messageOf } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { ShellDeps } from './system.ts';

interface WindowDeps extends ShellDeps {
  readonly ownOrigin: string;
  /** Opens the page with control, once. */
  readonly controlLink: () => string;
  /** Whether a hidden window could be opened again. */
  readonly canHide: () => Promise<boolean>;
  readonly log: Log;
  /** The page has crashed or was not loaded, and its window is closed. */
  readonly onCrash: () => void;
}

/** A view of the page, by its route. */
export type WindowView =
  'settings' | `settings/${UpstreamId | 'about'}` | 'join' | 'providers/failed';

export type MainWindow = ReturnType<typeof createMainWindow>;

/** The window shows the gateway's page, with its own control session. */
export function createMainWindow(deps: WindowDeps) {
  const { app, BrowserWindow, dialog, screen } = deps.electron;
  const { ownOrigin, canHide, log, preferences } = deps;
  let current: Electron.BrowserWindow | null = null;

  const alive = () => (current?.isDestroyed() === false ? current : null);

  // Systems move what they show to another screen, but not what is hidden.
  screen.on('display-removed', () => {
    if (alive()?.isVisible() === false) current?.center();
  });

  function createWindow(view: WindowView | null, isOffered = false): Electron.BrowserWindow {
    const window = new BrowserWindow(windowOptions(deps.iconsDirectory));
    current = window;
    guardContents(window.webContents, ownOrigin);
    offerContextMenu(window, deps.electron.Menu);
    window.once('ready-to-show', () => {
      if (isOffered && !window.isVisible()) window.minimize();
      else window.show();
    });
    // A tray app without a window is not shown in the dock.
    window.on('show', () => void app.dock?.show());
    window.on('hide', () => app.dock?.hide());
    window.on('closed', () => app.dock?.hide());
    window.on('close', (event) => {
      event.preventDefault();
      void canHide().then((can) => hideOrMinimize(window, can));
    });
    // A page that has crashed or was not loaded stays blank.
    function giveUp(details: object): void {
      log('error', 'page_gone', { ...details });
      window.destroy();
      deps.onCrash();
    }
    window.webContents.on('render-process-gone', (_event, details) => {
      if (details.reason !== 'clean-exit') giveUp(details);
    });
    window.loadURL(deps.controlLink()).then(
      () => goTo(window, ownOrigin, view),
      (error: unknown) => {
        // A reload while the page loads aborts the first load, which is not a failure.
        if (codeOf(error) !== 'ERR_ABORTED') giveUp({ error: messageOf(error) });
      },
    );
    return window;
  }

  async function hideOrMinimize(window: Electron.BrowserWindow, can: boolean): Promise<void> {
    if (!preferences.current().isTrayExplained) {
      preferences.change({ isTrayExplained: true });
      await showBox(dialog, window, KEEPS_RUNNING);
    }
    if (window.isDestroyed()) return;
    if (can) window.hide();
    else window.minimize();
  }

  function bringToFront(view: WindowView | null = null): Electron.BrowserWindow {
    const window = alive();
    if (window === null) return createWindow(view);
    goTo(window, ownOrigin, view);
    if (window.isMinimized()) window.restore();
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

const EDIT_ITEMS = (['cut', 'copy', 'paste', 'selectAll'] as const).map((role) => ({ role }));

export interface Box {
  readonly type: 'error' | 'info';
  readonly message: string;
  readonly detail: string;
}

const showBox = (dialog: Electron.Dialog, window: Electron.BrowserWindow, box: Box) =>
  dialog.showMessageBox(window, { ...box, buttons: ['OK'] });

/** Changes only the fragment of the current page, so the session stays. */
function goTo(window: Electron.BrowserWindow, ownOrigin: string, view: WindowView | null): void {
  if (view === null || window.isDestroyed()) return;
  window.loadURL(`${ownOrigin}/#/${view}`).catch(() => undefined);
}

const KEEPS_RUNNING: Box = {
  type: 'info',
  message: 'Inglenook keeps running',
  detail:
    'Apps can keep using it. To open this window again or to quit, use the icon in the tray; on a desktop that shows none, the window is only minimised.',
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
  // Everything else is Electron's default, which isolates the page.
  webPreferences: {
    sandbox: true,
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
  // This event covers the main frame, too.
  contents.on('will-frame-navigate', preventLeaving);
  contents.on('will-redirect', preventLeaving);
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
  return url?.origin === ownOrigin && url.username === '' && url.password === '';
}
