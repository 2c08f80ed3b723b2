import { join } from 'node:path';
import type { BrowserWindowConstructorOptions } from 'electron';
import type { ContentsApi, ElectronApi, WindowApi } from './electron-api.ts';

interface WindowDeps {
  readonly electron: Pick<ElectronApi, 'BrowserWindow' | 'dialog'>;
  readonly iconsDirectory: string;
  readonly ownOrigin: string;
  readonly controlLink: () => string;
  /** Null: nothing runs behind the window, so closing it closes it. */
  readonly hasTrayPanel: (() => Promise<boolean>) | null;
}

/** A page of the window, as its address names it. */
type WindowPage = 'join';

export interface MainWindow {
  /** Brings the window to the front, at a page of its own if one is named; creates it if there is none. */
  open(page?: WindowPage): void;
  /** Shows an error in a message showBox on the window. */
  showError(title: string, detail: string): void;
}

/** The window shows the gateway's page, with its own control session. */
export function createMainWindow(deps: WindowDeps): MainWindow {
  const { BrowserWindow, dialog } = deps.electron;
  let current: WindowApi | null = null;

  function createWindow(page?: WindowPage): WindowApi {
    const window = new BrowserWindow(windowOptions(deps.iconsDirectory));
    guardContents(window.webContents, deps.ownOrigin);
    window.once('ready-to-show', () => window.show());
    const { hasTrayPanel } = deps;
    if (hasTrayPanel !== null) {
      window.on('close', (event) => {
        event.preventDefault();
        void hideOrMinimize(window, hasTrayPanel);
      });
    }
    // A crashed page stays dead when shown; the next open() creates another window.
    window.webContents.on('render-process-gone', () => window.destroy());
    const link = deps.controlLink();
    window.loadURL(page === undefined ? link : `${link}/${page}`).catch(async (error: unknown) => {
      if (window.isDestroyed() || isSuperseded(error)) return;
      window.show();
      await showBox(
        window,
        'The window could not be loaded',
        `${messageOf(error)}\n\nThe gateway goes on serving. Try "Open window" again, or "Open in browser".`,
      );
      window.destroy();
    });
    return window;
  }

  // Without a visible tray icon a hidden window could not be opened again.
  async function hideOrMinimize(
    window: WindowApi,
    hasTrayPanel: () => Promise<boolean>,
  ): Promise<void> {
    const canReturn = await hasTrayPanel();
    if (window.isDestroyed()) return;
    if (canReturn) window.hide();
    else window.minimize();
  }

  function bringToFront(page?: WindowPage): WindowApi {
    if (current === null || current.isDestroyed()) {
      current = createWindow(page);
      return current;
    }
    // Within the page that is loaded: what it shows of a failure is its own matter.
    if (page !== undefined) current.loadURL(`${deps.ownOrigin}/#/${page}`).catch(() => undefined);
    if (current.isMinimized()) current.restore();
    current.show();
    current.focus();
    return current;
  }

  async function showBox(window: WindowApi, message: string, detail: string): Promise<void> {
    await dialog.showMessageBox(window, { type: 'error', message, detail, buttons: ['OK'] });
  }

  return {
    open: (page) => void bringToFront(page),
    showError: (title, detail) => void showBox(bringToFront(), title, detail),
  };
}

/** A reload while the page loads aborts the first load, which is not a failure. */
function isSuperseded(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_ABORTED';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function windowOptions(iconsDirectory: string): BrowserWindowConstructorOptions {
  return {
    title: 'Switchyard',
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
  };
}

/** The only permission of the page: its Copy buttons write plain text. */
const GRANTED = 'clipboard-sanitized-write';

/** Keeps a page on the gateway's own origin, with one permission. */
function guardContents(contents: ContentsApi, ownOrigin: string): void {
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

/** Whether an address is a page of this gateway. */
export function isOwnPage(address: string, ownOrigin: string): boolean {
  const url = URL.parse(address);
  if (url === null || url.username !== '' || url.password !== '') return false;
  // Two opaque origins would be equal, since both read "null".
  return url.origin !== 'null' && url.origin === ownOrigin;
}
