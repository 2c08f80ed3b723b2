import type {
  App,
  BaseWindow,
  BaseWindowConstructorOptions,
  BrowserWindow,
  BrowserWindowConstructorOptions,
  Clipboard,
  CommandLine,
  ContextMenuParams,
  Dock,
  Dialog,
  ForkOptions,
  Notification,
  NotificationConstructorOptions,
  PowerSaveBlocker,
  SafeStorage,
  MenuItemConstructorOptions,
  MessageBoxOptions,
  MessageBoxReturnValue,
  Rectangle,
  Shell,
  Tray,
} from 'electron';

// Electron's `on` has dozens of overloads that return the whole object, which no fake can satisfy. The few events in
// use are declared here; main/electron.ts passes the real module, so the compiler checks this file against Electron's
// own types.

interface Cancelable {
  preventDefault(): void;
}

/** How a Chromium process ended; `killed` if it was ended from outside. */
export interface ProcessEnd {
  readonly reason: string;
  readonly exitCode: number;
}

interface Navigation extends Cancelable {
  readonly url: string;
}

export interface AppApi extends Pick<
  App,
  | 'requestSingleInstanceLock'
  | 'enableSandbox'
  | 'whenReady'
  | 'quit'
  | 'exit'
  | 'getLoginItemSettings'
  | 'setLoginItemSettings'
  | 'setAppUserModelId'
  | 'setAboutPanelOptions'
  | 'showAboutPanel'
  | 'relaunch'
  | 'focus'
> {
  /** macOS only. */
  readonly dock?: Pick<Dock, 'hide' | 'show'> | undefined;
  readonly commandLine: Pick<CommandLine, 'hasSwitch'>;
  on(
    event: 'second-instance',
    listener: (event: unknown, argv: readonly string[]) => void,
  ): unknown;
  on(
    event: 'child-process-gone',
    listener: (event: unknown, details: ProcessEnd & { readonly type: string }) => void,
  ): unknown;
  on(event: 'activate' | 'window-all-closed', listener: () => void): unknown;
  on(event: 'before-quit', listener: (event: Cancelable) => void): unknown;
}

export interface SessionApi {
  setPermissionCheckHandler(
    handler: (contents: unknown, permission: string, requestingOrigin: string) => boolean,
  ): void;
  setPermissionRequestHandler(
    handler: (
      contents: unknown,
      permission: string,
      callback: (granted: boolean) => void,
      details: { readonly requestingUrl: string },
    ) => void,
  ): void;
}

export type ClickedPlace = Pick<ContextMenuParams, 'isEditable' | 'selectionText'>;

export interface ContentsApi {
  readonly session: SessionApi;
  setWindowOpenHandler(handler: () => { action: 'deny' }): void;
  on(
    event: 'will-navigate' | 'will-frame-navigate' | 'will-redirect',
    listener: (navigation: Navigation) => void,
  ): unknown;
  on(event: 'context-menu', listener: (event: unknown, place: ClickedPlace) => void): unknown;
  on(event: 'will-attach-webview', listener: (event: Cancelable) => void): unknown;
  on(
    event: 'render-process-gone',
    listener: (event: unknown, details: ProcessEnd) => void,
  ): unknown;
}

export interface WindowApi extends Pick<
  BrowserWindow,
  | 'loadURL'
  | 'show'
  | 'hide'
  | 'focus'
  | 'minimize'
  | 'restore'
  | 'isMinimized'
  | 'isVisible'
  | 'isDestroyed'
  | 'getNormalBounds'
  | 'isMaximized'
  | 'maximize'
  | 'setBounds'
  | 'destroy'
> {
  readonly webContents: ContentsApi;
  once(event: 'ready-to-show', listener: () => void): unknown;
  on(event: 'close', listener: (event: Cancelable) => void): unknown;
  /** `unresponsive`: the page has not responded for 30 s. */
  on(
    event: 'show' | 'hide' | 'closed' | 'unresponsive' | 'responsive',
    listener: () => void,
  ): unknown;
}

/** A window that is never shown: Windows announces the end of the session only to windows. */
export interface SessionWindowApi {
  on(event: 'session-end', listener: () => void): unknown;
}

export interface PowerApi {
  /**
   * Linux and macOS. If prevented, the system waits a moment for the app to exit. Documented, but missing in Electron's
   * types.
   */
  on(event: 'shutdown', listener: (event?: Cancelable) => void): unknown;
  on(event: 'suspend' | 'resume', listener: () => void): unknown;
}

export type PowerBlockerApi = Pick<PowerSaveBlocker, 'start' | 'stop'>;

export type SafeStorageApi = Pick<
  SafeStorage,
  | 'decryptStringAsync'
  | 'encryptStringAsync'
  | 'getSelectedStorageBackend'
  | 'isAsyncEncryptionAvailable'
>;

export interface NotificationApi extends Pick<Notification, 'show'> {
  /** `action`: a click on its button; Linux may show none. */
  on(event: 'click' | 'action', listener: () => void): unknown;
}

interface UtilityChild {
  /** Undefined before the process starts and after it ends. */
  readonly pid?: number | undefined;
  on(event: 'message', listener: (message: unknown) => void): unknown;
  on(event: 'exit', listener: (code: number) => void): unknown;
}

export interface UtilityApi {
  fork(path: string, args: string[], options: ForkOptions): UtilityChild;
}

export interface HelperEnd {
  readonly kind: 'exited';
  readonly code: number;
  readonly stderr: string;
}

/** How the agent starts its helper; the compiler checks it where main/electron.ts passes one on. */
export type StartHelper = (
  file: string,
  args: readonly string[],
  onData: (chunk: Buffer) => void,
) => { readonly ended: Promise<HelperEnd>; kill(): void };

export interface ScreenApi {
  getAllDisplays(): readonly { readonly workArea: Rectangle }[];
}

export interface MenuApi {
  /** Opens it at the pointer, on the focused window. */
  popup(): void;
  on(event: 'menu-will-show' | 'menu-will-close', listener: () => void): unknown;
}

/** `showErrorBox` blocks the process, including the gateway, until it is closed: for failed starts only. */
interface DialogApi extends Pick<Dialog, 'showErrorBox'> {
  /** On macOS a box without a parent window would block the process. */
  showMessageBox(
    window: Pick<BaseWindow, 'isDestroyed'>,
    options: MessageBoxOptions,
  ): Promise<MessageBoxReturnValue>;
  showMessageBox(options: MessageBoxOptions): Promise<MessageBoxReturnValue>;
}

export interface TrayApi extends Pick<Tray, 'setToolTip' | 'destroy'> {
  on(event: 'click', listener: () => void): unknown;
  setImage(path: string): void;
  setContextMenu(menu: MenuApi | null): void;
}

export interface ElectronApi {
  readonly app: AppApi;
  readonly BrowserWindow: new (options: BrowserWindowConstructorOptions) => WindowApi;
  readonly BaseWindow: new (options: BaseWindowConstructorOptions) => SessionWindowApi;
  readonly Tray: new (imagePath: string) => TrayApi;
  readonly Menu: {
    buildFromTemplate(template: MenuItemConstructorOptions[]): MenuApi;
    setApplicationMenu(menu: MenuApi | null): void;
  };
  readonly dialog: DialogApi;
  readonly shell: Pick<Shell, 'openExternal' | 'openPath'>;
  readonly powerMonitor: PowerApi;
  readonly powerSaveBlocker: PowerBlockerApi;
  readonly Notification: {
    new (options: NotificationConstructorOptions): NotificationApi;
    isSupported(): boolean;
  };
  readonly screen: ScreenApi;
  readonly clipboard: Pick<Clipboard, 'writeText'>;
}
