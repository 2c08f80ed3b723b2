import { join } from 'node:path';
import type { BrowserWindowConstructorOptions } from 'electron';
import type { UpstreamId } from '#shared/ids.ts';
import { codeOf, messageOf } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { ContentsApi, ElectronApi, WindowApi } from './electron-api.ts';
import { createPageHealth } from './page-health.ts';
import { createWindowMemory, type SavedWindowFile } from './window-bounds.ts';

interface WindowDeps {
  readonly electron: Pick<ElectronApi, 'app' | 'BrowserWindow' | 'dialog' | 'screen'>;
  readonly platform: NodeJS.Platform;
  readonly iconsDirectory: string;
  readonly ownOrigin: string;
  readonly controlLink: () => string;
  /** Null: nothing runs behind the window, so closing it closes it. */
  readonly hasTrayPanel: (() => Promise<boolean>) | null;
  readonly saved: SavedWindowFile;
  /** Windows only. */
  readonly onSessionEnd: () => void;
  readonly log: Log;
  /** The page has crashed so often that it is not opened anew. */
  readonly onGone: () => void;
}

/** A view of the page, by its route. */
export type WindowView =
  'settings' | `settings/${UpstreamId | 'about'}` | 'join' | 'providers/failed';

export interface MainWindow {
  /** Brings the window to the front; creates it if there is none. */
  open(view?: WindowView | null): void;
  /** Shows a message box on the window. */
  show(box: Box): void;
  /** Remembers size and position. */
  save(): void;
  isShown(): boolean;
  /** For good, unlike a person's click, which only hides it. */
  close(): void;
}

/** The window shows the gateway's page, with its own control session. */
export function createMainWindow(deps: WindowDeps): MainWindow {
  const { app, BrowserWindow, dialog, screen } = deps.electron;
  let current: WindowApi | null = null;
  const memory = createWindowMemory(deps.saved, screen);
  const health = createPageHealth({
    dialog,
    log: deps.log,
    replace(window) {
      window.destroy();
      bringToFront();
    },
    giveUp(window) {
      window.destroy();
      deps.onGone();
    },
  });

  function createWindow(view: WindowView | null): WindowApi {
    const window = new BrowserWindow({ ...windowOptions(deps.iconsDirectory), ...memory.bounds() });
    guardContents(window.webContents, deps.ownOrigin);
    window.once('ready-to-show', () => {
      if (memory.wasMaximized()) window.maximize();
      window.show();
    });
    window.on('show', () => void app.dock?.show());
    // A tray app without a window has no place in the dock.
    window.on('hide', () => app.dock?.hide());
    if (deps.platform === 'win32') window.on('session-end', deps.onSessionEnd);
    const { hasTrayPanel } = deps;
    window.on('close', (event) => {
      if (hasTrayPanel === null) return;
      event.preventDefault();
      void hasTrayPanel().then((canReturn) => hideOrMinimize(window, canReturn));
    });
    health.watch(window);
    const loaded = window.loadURL(deps.controlLink());
    if (view !== null)
      void loaded.then(
        () => goTo(window, deps.ownOrigin, view),
        () => undefined,
      );
    loaded.catch((error: unknown) => reportFailedLoad(window, error));
    return window;
  }

  async function reportFailedLoad(window: WindowApi, error: unknown): Promise<void> {
    if (window.isDestroyed() || isSuperseded(error)) return;
    window.show();
    await showBox(dialog, window, {
      type: 'error',
      message: 'The window could not be loaded',
      detail: `${messageOf(error)}\n\nThe gateway goes on serving. Try "Open window" again, or "Open in browser".`,
    });
    window.destroy();
  }

  // Without a visible tray icon a hidden window could not be opened again.
  async function hideOrMinimize(window: WindowApi, canReturn: boolean): Promise<void> {
    if (window.isDestroyed()) return;
    memory.remember(window);
    if (!canReturn) {
      window.minimize();
      return;
    }
    if (memory.explainTray()) await showBox(dialog, window, TRAY_BOX);
    if (!window.isDestroyed()) window.hide();
  }

  function bringToFront(view: WindowView | null = null): WindowApi {
    if (current === null || current.isDestroyed()) {
      current = createWindow(view);
      return current;
    }
    if (view !== null) goTo(current, deps.ownOrigin, view);
    if (current.isMinimized()) current.restore();
    current.show();
    current.focus();
    return current;
  }

  return {
    open: (view) => void bringToFront(view ?? null),
    show: (box) => void showBox(dialog, bringToFront(), box),
    save() {
      if (current !== null && !current.isDestroyed()) memory.remember(current);
    },
    isShown: () => current !== null && !current.isDestroyed() && current.isVisible(),
    close: () => current?.destroy(),
  };
}

interface Box {
  readonly type: 'error' | 'info';
  readonly message: string;
  readonly detail: string;
}

async function showBox(dialog: ElectronApi['dialog'], window: WindowApi, box: Box): Promise<void> {
  await dialog.showMessageBox(window, { ...box, buttons: ['OK'] });
}

/** Only the fragment differs from the page that is shown, so the session stays. */
function goTo(window: WindowApi, ownOrigin: string, view: WindowView): void {
  if (!window.isDestroyed()) window.loadURL(`${ownOrigin}/#/${view}`).catch(() => undefined);
}

const TRAY_BOX: Box = {
  type: 'info',
  message: 'Switchyard keeps running in the tray',
  detail:
    'Apps can go on using it. To open this window again or to quit, use the icon in the tray.',
};

/** A reload while the page loads aborts the first load, which is not a failure. */
function isSuperseded(error: unknown): boolean {
  return codeOf(error) === 'ERR_ABORTED';
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

export function isOwnPage(address: string, ownOrigin: string): boolean {
  const url = URL.parse(address);
  if (url === null || url.username !== '' || url.password !== '') return false;
  // Two opaque origins would be equal, since both read "null".
  return url.origin !== 'null' && url.origin === ownOrigin;
}
