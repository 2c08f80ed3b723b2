import { join } from 'node:path';
import type * as Electron from 'electron';
import { z } from 'zod';
import type { UpstreamId } from '#shared/ids.ts';
import { codeOf, messageOf } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { JsonFile } from './preferences.ts';

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
  readonly saved: JsonFile;
  readonly log: Log;
  /** Called when the page has crashed too often to be opened again. */
  readonly onGone: () => void;
}

/** A view of the page, by its route. */
export type WindowView =
  'settings' | `settings/${UpstreamId | 'about'}` | 'join' | 'providers/failed';

export type MainWindow = ReturnType<typeof createMainWindow>;

/** The window shows the gateway's page, with its own control session. */
export function createMainWindow(deps: WindowDeps) {
  const { app, BrowserWindow, dialog, Menu, screen } = deps.electron;
  let current: Electron.BrowserWindow | null = null;
  /** Windows that the user has hidden. */
  const hiddenByUser = new WeakSet<Electron.BrowserWindow>();
  const memory = createWindowMemory(deps.saved, screen);
  const health = createPageHealth({
    dialog,
    log: deps.log,
    replace(window) {
      const wasMinimized = window.isMinimized();
      window.destroy();
      // A hidden window is replaced only when the user opens it, so that none appears unasked.
      if (wasMinimized) offer();
      else if (!hiddenByUser.has(window)) bringToFront();
    },
    giveUp(window) {
      window.destroy();
      deps.onGone();
    },
  });

  function createWindow(view: WindowView | null, isOffered = false): Electron.BrowserWindow {
    const window = new BrowserWindow({ ...windowOptions(deps.iconsDirectory), ...memory.bounds() });
    guardContents(window.webContents, deps.ownOrigin);
    window.once('ready-to-show', () => {
      if (isOffered && !window.isVisible()) window.minimize();
      else showFirst(window, memory.wasMaximized());
    });
    window.on('hide', () => void hiddenByUser.add(window));
    window.on('show', () => void hiddenByUser.delete(window));
    followDock(window, app.dock);
    offerContextMenu(window, Menu);
    const { canHide } = deps;
    window.on('close', (event) => {
      if (canHide === null) return;
      event.preventDefault();
      void canHide().then((can) => hideOrMinimize(window, can));
    });
    health.watch(window);
    const loaded = window.loadURL(deps.controlLink());
    if (view !== null)
      void loaded.then(
        () => goTo(window, deps.ownOrigin, view),
        () => undefined,
      );
    loaded.catch((error: unknown) => reportFailedLoad(dialog, window, error));
    return window;
  }

  async function hideOrMinimize(window: Electron.BrowserWindow, canHide: boolean): Promise<void> {
    if (window.isDestroyed()) return;
    memory.remember(window);
    if (memory.explainTray()) await showBox(dialog, window, canHide ? TRAY_BOX : NO_TRAY_BOX);
    if (window.isDestroyed()) return;
    if (canHide) window.hide();
    else window.minimize();
  }

  function bringToFront(view: WindowView | null = null): Electron.BrowserWindow {
    if (current === null || current.isDestroyed()) {
      current = createWindow(view);
      return current;
    }
    if (view !== null) goTo(current, deps.ownOrigin, view);
    if (current.isMinimized()) current.restore();
    if (!current.isVisible()) memory.rescue(current);
    current.show();
    current.focus();
    // On macOS a click on the tray does not activate the app.
    if (deps.platform === 'darwin') app.focus({ steal: true });
    return current;
  }

  function offer(): void {
    if (current === null || current.isDestroyed()) current = createWindow(null, true);
  }

  return {
    open: (view?: WindowView | null) => void bringToFront(view ?? null),
    /** Creates a minimised window if there is none: the only way to open it without a tray. */
    offer,
    show: (box: Box) => void showBox(dialog, bringToFront(), box),
    save() {
      if (current !== null && !current.isDestroyed()) memory.remember(current);
    },
    isShown: () => current !== null && !current.isDestroyed() && current.isVisible(),
    /** Closes it for good; the user's click only hides it. */
    close: () => current?.destroy(),
  };
}

function showFirst(window: Electron.BrowserWindow, isMaximized: boolean): void {
  if (isMaximized) window.maximize();
  window.show();
}

/** A tray app without a window is not shown in the dock. */
function followDock(window: Electron.BrowserWindow, dock: Electron.App['dock']): void {
  window.on('show', () => void dock?.show());
  window.on('hide', () => dock?.hide());
  window.on('closed', () => dock?.hide());
}

function offerContextMenu(
  { webContents }: Electron.BrowserWindow,
  Menu: typeof Electron.Menu,
): void {
  webContents.on('context-menu', (_event, place) => {
    const items = contextMenu(place);
    if (items.length > 0) Menu.buildFromTemplate(items).popup();
  });
}

/** For a right click in the page, for which Electron has no default menu. */
export function contextMenu({
  isEditable,
  selectionText,
}: Pick<
  Electron.ContextMenuParams,
  'isEditable' | 'selectionText'
>): Electron.MenuItemConstructorOptions[] {
  if (isEditable)
    return [{ role: 'cut' }, { role: 'copy' }, { role: 'paste' }, { role: 'selectAll' }];
  return selectionText.trim() === '' ? [] : [{ role: 'copy' }];
}

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
  if (window.isDestroyed() || isSuperseded(error)) return;
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
    'Apps can keep using it. This desktop shows no tray icon, so the window is only minimised. To quit, use the menu "Inglenook".',
};

/** A reload while the page loads aborts the first load, which is not a failure. */
function isSuperseded(error: unknown): boolean {
  return codeOf(error) === 'ERR_ABORTED';
}

function windowOptions(iconsDirectory: string): Electron.BrowserWindowConstructorOptions {
  return {
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
  };
}

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

interface PageHealthDeps {
  readonly dialog: Electron.Dialog;
  readonly log: Log;
  /** Replaces this window with a new one. */
  readonly replace: (window: Electron.BrowserWindow) => void;
  /** Called instead if replacing has not helped. */
  readonly giveUp: (window: Electron.BrowserWindow) => void;
}

/** A page that crashes right after each reopening must not keep the machine busy. */
const MAX_REOPENINGS = 2;
const REOPENINGS_WINDOW_MS = 60_000;

/** Handles pages that crash or hang; the gateway keeps running. */
function createPageHealth({ dialog, log, replace, giveUp }: PageHealthDeps) {
  let reopenedAt: readonly number[] = [];

  function reopen(window: Electron.BrowserWindow): void {
    const now = performance.now();
    reopenedAt = reopenedAt.filter((at) => now - at < REOPENINGS_WINDOW_MS);
    if (reopenedAt.length >= MAX_REOPENINGS) {
      giveUp(window);
      return;
    }
    reopenedAt = [...reopenedAt, now];
    replace(window);
  }

  async function askAboutHang(window: Electron.BrowserWindow): Promise<void> {
    const { response } = await dialog.showMessageBox(window, {
      type: 'warning',
      message: 'The app window is not responding',
      detail: 'The gateway keeps running. It may recover by itself.',
      buttons: ['Wait', 'Reopen'],
      defaultId: 0,
      cancelId: 0,
    });
    if (response === 1 && !window.isDestroyed()) reopen(window);
  }

  return {
    watch(window: Electron.BrowserWindow) {
      let isAsked = false;
      // A crashed page stays blank, so a new window replaces it.
      window.webContents.on('render-process-gone', (_event, { reason, exitCode }) => {
        if (reason === 'clean-exit') return;
        log('error', 'page_gone', { reason, exitCode });
        reopen(window);
      });
      window.on('unresponsive', () => {
        if (isAsked) return;
        isAsked = true;
        log('warn', 'page_unresponsive');
        void askAboutHang(window);
      });
      window.on('responsive', () => {
        isAsked = false;
      });
    },
  };
}

const savedWindowSchema = z.object({
  bounds: z.object({ x: z.int(), y: z.int(), width: z.int(), height: z.int() }),
  isMaximized: z.boolean(),
  /** Whether the owner has been told that closing the window leaves the gateway running. */
  isTrayExplained: z.boolean(),
});

type SavedWindow = z.infer<typeof savedWindowSchema>;

/** How much of a title bar must be visible to be dragged, in pixels. */
const GRIP = { width: 120, height: 32 };

/**
 * The saved bounds; null if their title bar cannot be reached, because its screen is gone. A window larger than its
 * screen is made to fit.
 */
export function reachableBounds(
  saved: Electron.Rectangle,
  workAreas: readonly Electron.Rectangle[],
): Electron.Rectangle | null {
  for (const area of workAreas) {
    const seenWidth =
      Math.min(saved.x + saved.width, area.x + area.width) - Math.max(saved.x, area.x);
    const isGripSeen =
      seenWidth >= GRIP.width && saved.y >= area.y && saved.y + GRIP.height <= area.y + area.height;
    if (!isGripSeen) continue;
    const width = Math.min(saved.width, area.width);
    const height = Math.min(saved.height, area.height);
    return { x: saved.x, y: saved.y, width, height };
  }
  return null;
}

/**
 * Where to move a hidden window before it is shown again, as its screen may have been unplugged; null if it can be
 * reached.
 */
function rescuedBounds(
  { x, y, width, height }: Electron.Rectangle,
  workAreas: readonly Electron.Rectangle[],
): Electron.Rectangle | null {
  const [area] = workAreas;
  if (area === undefined || reachableBounds({ x, y, width, height }, workAreas) !== null)
    return null;
  const size = { width: Math.min(width, area.width), height: Math.min(height, area.height) };
  return {
    x: area.x + Math.round((area.width - size.width) / 2),
    y: area.y + Math.round((area.height - size.height) / 2),
    ...size,
  };
}

function createWindowMemory(file: JsonFile, screen: Electron.Screen) {
  /** Null at the first start or if the file cannot be read. */
  let saved: SavedWindow | null = savedWindowSchema.safeParse(file.read()).data ?? null;
  const workAreas = () => screen.getAllDisplays().map(({ workArea }) => workArea);
  return {
    /** Null for the default position. */
    bounds: () => (saved === null ? null : reachableBounds(saved.bounds, workAreas())),
    wasMaximized: () => saved?.isMaximized ?? false,
    /** Moves a hidden window whose screen is gone. */
    rescue(window: Pick<Electron.BrowserWindow, 'getNormalBounds' | 'setBounds'>) {
      const bounds = rescuedBounds(window.getNormalBounds(), workAreas());
      if (bounds !== null) window.setBounds(bounds);
    },
    remember(window: Pick<Electron.BrowserWindow, 'getNormalBounds' | 'isMaximized'>) {
      saved = {
        bounds: window.getNormalBounds(),
        isMaximized: window.isMaximized(),
        isTrayExplained: saved?.isTrayExplained ?? false,
      };
      file.write(saved);
    },
    /** True for the first call on this machine; remembered in the file. */
    explainTray() {
      if (saved === null || saved.isTrayExplained) return false;
      saved = { ...saved, isTrayExplained: true };
      file.write(saved);
      return true;
    },
  };
}
