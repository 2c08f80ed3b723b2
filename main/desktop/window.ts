import { join } from 'node:path';
import type { BrowserWindowConstructorOptions } from 'electron';
import type { ContentsApi, ElectronApi, WindowApi } from './electron-api.ts';

interface WindowDeps {
  readonly electron: Pick<ElectronApi, 'BrowserWindow' | 'dialog'>;
  readonly iconsDirectory: string;
  readonly ownOrigin: string;
  readonly controlLink: () => string;
  readonly hasTrayPanel: () => Promise<boolean>;
}

export interface MainWindow {
  /** Brings the window to the front, making it when there is none. */
  open(): void;
  /** Says in the window that something did not work. */
  tell(title: string, detail: string): void;
}

/** The one window: the gateway's own page, with a control session of its own. */
export function createMainWindow(deps: WindowDeps): MainWindow {
  const { BrowserWindow, dialog } = deps.electron;
  let current: WindowApi | null = null;

  function make(): WindowApi {
    const window = new BrowserWindow(windowOptions(deps.iconsDirectory));
    guardContents(window.webContents, deps.ownOrigin);
    window.once('ready-to-show', () => window.show());
    window.on('close', (event) => {
      event.preventDefault();
      void leave(window);
    });
    // A dead page cannot be revived by showing it; the next open() makes another.
    window.webContents.on('render-process-gone', () => window.destroy());
    window.loadURL(deps.controlLink()).catch(async (error: unknown) => {
      if (window.isDestroyed() || isSuperseded(error)) return;
      window.show();
      await box(
        window,
        'The window could not be loaded',
        `${messageOf(error)}\n\nThe gateway goes on serving. Try "Open window" again, or "Open in browser".`,
      );
      window.destroy();
    });
    return window;
  }

  // Where no panel shows the tray icon, a hidden window could never be found again.
  async function leave(window: WindowApi): Promise<void> {
    const canReturn = await deps.hasTrayPanel();
    if (window.isDestroyed()) return;
    if (canReturn) window.hide();
    else window.minimize();
  }

  function front(): WindowApi {
    if (current === null || current.isDestroyed()) {
      current = make();
      return current;
    }
    if (current.isMinimized()) current.restore();
    current.show();
    current.focus();
    return current;
  }

  async function box(window: WindowApi, message: string, detail: string): Promise<void> {
    await dialog.showMessageBox(window, { type: 'error', message, detail, buttons: ['OK'] });
  }

  return {
    open: () => void front(),
    tell: (title, detail) => void box(front(), title, detail),
  };
}

/** A reload while the page still loads ends the first load, and is no failure. */
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

/** The one thing that the page may do beyond showing itself: its Copy buttons write plain text. */
const GRANTED = 'clipboard-sanitized-write';

/** Keeps a page on the gateway's own origin and without every permission but one. */
function guardContents(contents: ContentsApi, ownOrigin: string): void {
  const stay = (navigation: { readonly url: string; preventDefault(): void }): void => {
    if (!isOwnPage(navigation.url, ownOrigin)) navigation.preventDefault();
  };
  contents.on('will-navigate', stay);
  contents.on('will-frame-navigate', stay);
  contents.on('will-redirect', stay);
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

/** Whether an address is a page of this gateway, and of nobody else. */
export function isOwnPage(address: string, ownOrigin: string): boolean {
  const url = URL.parse(address);
  if (url === null || url.username !== '' || url.password !== '') return false;
  // Opaque origins read "null", and two of them would be equal.
  return url.origin !== 'null' && url.origin === ownOrigin;
}
