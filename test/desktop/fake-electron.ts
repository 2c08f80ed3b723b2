import { EventEmitter } from 'node:events';
import type * as Electron from 'electron';

// A stand-in for the parts of Electron that the shell uses, with the rules of the real ones that a mistake would break.
// It remembers what was done to it.

type CheckHandler = (contents: unknown, permission: string, origin: string) => boolean;
type RequestHandler = (
  contents: unknown,
  permission: string,
  callback: (granted: boolean) => void,
  details: { readonly requestingUrl: string },
) => void;

/** An event whose default can be prevented, as Electron hands them out. */
export class FakeEvent {
  prevented = false;
  readonly url: string;
  constructor(url = '') {
    this.url = url;
  }
  readonly preventDefault = (): void => void (this.prevented = true);
}

export class FakeNotification extends EventEmitter {
  readonly options: Electron.NotificationConstructorOptions;
  isShown = false;
  constructor(options: Electron.NotificationConstructorOptions) {
    super();
    this.options = options;
  }
  readonly show = (): void => void (this.isShown = true);
}

class FakePower extends EventEmitter {
  /** As Linux and macOS before a shutdown; false if the app has not asked the system to wait. */
  shutDown(): boolean {
    const event = new FakeEvent();
    this.emit('shutdown', event);
    return event.prevented;
  }
}

class FakeApp extends EventEmitter {
  readonly platform: NodeJS.Platform;
  isPackaged = true;
  isInstalled = true;
  readonly isInApplicationsFolder = (): boolean => this.isInstalled;
  isReady = false;
  isFirst = true;
  constructor(platform: NodeJS.Platform) {
    super();
    this.platform = platform;
  }
  loginItem: Partial<Electron.LoginItemSettings> = {};
  /** What the system runs at login: the path is that of the running program if none is given. */
  loginCommand: readonly string[] | null = null;
  loginItemReads = 0;
  getLoginItemSettings(): Electron.LoginItemSettings {
    this.loginItemReads++;
    return {
      openAtLogin: this.loginCommand !== null,
      wasOpenedAtLogin: false,
      status: 'not-registered',
      executableWillLaunchAtLogin: true,
      launchItems: [],
      ...this.loginItem,
    };
  }
  setLoginItemSettings({ openAtLogin = false, path, args = [] }: Electron.Settings): void {
    const program = path ?? (this.isPackaged ? 'inglenook' : 'electron');
    this.loginCommand = openAtLogin ? [program, ...args] : null;
  }
  dockShown = true;
  readonly dock = {
    show: () => Promise.resolve(void (this.dockShown = true)),
    hide: () => void (this.dockShown = false),
  };
  userModelId = '';
  readonly setAppUserModelId = (id: string): void => void (this.userModelId = id);
  readonly paths: Record<string, string> = {};
  readonly setPath = (name: string, path: string): void => void (this.paths[name] = path);
  readonly switches = new Set<string>();
  readonly commandLine = { hasSwitch: (name: string): boolean => this.switches.has(name) };
  /** What was asked of the app, in order. */
  readonly calls: string[] = [];
  requestSingleInstanceLock(): boolean {
    this.calls.push('lock');
    return this.isFirst;
  }
  readonly enableSandbox = (): void => this.beforeReady('sandbox');
  readonly disableHardwareAcceleration = (): void => this.beforeReady('no GPU');
  /** Both throw once the app is ready. */
  beforeReady(call: string): void {
    if (this.isReady) throw new Error(`${call}: the app is ready`);
    this.calls.push(call);
  }
  async whenReady(): Promise<void> {
    await Promise.resolve();
    this.isReady = true;
    this.calls.push('ready');
  }
  /** As Electron: asks `before-quit` first. */
  quit(): void {
    const event = new FakeEvent();
    this.emit('before-quit', event);
    if (!event.prevented) this.calls.push('quit');
  }
  readonly exit = (code = 0): void => void this.calls.push(`exit ${code}`);
  /** How often it was made the active app. */
  focused = 0;
  readonly focus = (): void => void this.focused++;
  readonly relaunch = ({ args = [] }: { args?: string[] } = {}): void =>
    void this.calls.push(['relaunch', ...args].join(' '));
}

class FakeContents extends EventEmitter {
  check: CheckHandler = () => true;
  request: RequestHandler = (_contents, _permission, callback) => callback(true);
  openHandler: () => { action: 'allow' | 'deny' } = () => ({ action: 'allow' });
  readonly session = {
    setPermissionCheckHandler: (handler: CheckHandler) => void (this.check = handler),
    setPermissionRequestHandler: (handler: RequestHandler) => void (this.request = handler),
  };
  setWindowOpenHandler(handler: () => { action: 'deny' }): void {
    this.openHandler = handler;
  }
}

export class FakeWindow extends EventEmitter {
  readonly options: Electron.BrowserWindowConstructorOptions;
  readonly webContents = new FakeContents();
  readonly loaded: string[] = [];
  state: 'hidden' | 'shown' | 'minimized' | 'destroyed' = 'hidden';
  focused = 0;
  centered = 0;
  loadError: Error | null = null;
  constructor(options: Electron.BrowserWindowConstructorOptions) {
    super();
    this.options = options;
  }
  loadURL(url: string): Promise<void> {
    this.loaded.push(url);
    return this.loadError === null ? Promise.resolve() : Promise.reject(this.loadError);
  }
  show(): void {
    this.state = 'shown';
    this.emit('show');
  }
  hide(): void {
    this.state = 'hidden';
    this.emit('hide');
  }
  readonly focus = (): void => void this.focused++;
  readonly center = (): void => void this.centered++;
  readonly minimize = (): void => void (this.state = 'minimized');
  readonly restore = (): void => void (this.state = 'shown');
  readonly isVisible = (): boolean => this.state === 'shown';
  readonly isMinimized = (): boolean => this.state === 'minimized';
  readonly isDestroyed = (): boolean => this.state === 'destroyed';
  destroy(): void {
    if (this.state === 'destroyed') return;
    this.state = 'destroyed';
    this.emit('closed');
  }
  /** As a person closes it: asks `close` first. */
  close(): void {
    const event = new FakeEvent();
    this.emit('close', event);
    if (!event.prevented) this.destroy();
  }
}

class FakeMenu extends EventEmitter {
  readonly items: readonly Electron.MenuItemConstructorOptions[];
  constructor(items: readonly Electron.MenuItemConstructorOptions[]) {
    super();
    this.items = items;
  }
  /** Opened under the pointer, as a menu of its own. */
  isOpened = false;
  readonly popup = (): void => void (this.isOpened = true);
  get labels(): readonly string[] {
    return this.items.map(({ label, role, type }) => label ?? role ?? type ?? '');
  }
  item(label: string): Electron.MenuItemConstructorOptions {
    const found = this.items.find((entry) => entry.label?.startsWith(label) === true);
    if (found === undefined) throw new Error(`no menu item "${label}"`);
    return found;
  }
  click(label: string): void {
    // Our handlers take none of the three arguments that Electron passes.
    (this.item(label).click as (() => void) | undefined)?.();
  }
}

class FakeTray extends EventEmitter {
  readonly images: string[];
  readonly tooltips: string[] = [];
  readonly menus: FakeMenu[] = [];
  removed = false;
  constructor(image: string) {
    super();
    this.images = [image];
  }
  get menu(): FakeMenu {
    const last = this.menus.at(-1);
    if (last === undefined) throw new Error('the tray has no menu');
    return last;
  }
  readonly setImage = (image: string): void => void this.images.push(image);
  readonly setToolTip = (text: string): void => void this.tooltips.push(text);
  readonly setContextMenu = (menu: FakeMenu): void => void this.menus.push(menu);
  readonly destroy = (): void => void (this.removed = true);
}

/**
 * A keychain. On Linux Chromium seals with a public password ("v10") while no keyring answers, and says that encryption
 * is available; what the keyring has sealed ("v11") is then refused.
 */
export class FakeSafeStorage {
  /** `silent`: a question waits until `answer` is called. */
  mode: 'open' | 'locked' | 'silent' | 'absent' = 'open';
  owner = 'ann';
  shouldReEncrypt = false;
  backend = 'gnome_libsecret';
  readonly questions: string[] = [];
  readonly #silence = Promise.withResolvers<void>();
  readonly #platform: NodeJS.Platform;
  constructor(platform: NodeJS.Platform) {
    this.#platform = platform;
  }
  getSelectedStorageBackend(): string {
    return this.backend;
  }
  async isAsyncEncryptionAvailable(): Promise<boolean> {
    await this.#ask('available');
    return this.#platform === 'linux' || this.mode !== 'absent';
  }
  async encryptStringAsync(text: string): Promise<Buffer> {
    await this.#ask('encrypt');
    if (this.mode === 'open') return Buffer.from(`v11 ${this.owner} ${text}`);
    if (this.#platform === 'linux') return Buffer.from(`v10 peanuts ${text}`);
    throw new Error('The user refused');
  }
  async decryptStringAsync(bytes: Buffer): Promise<Electron.DecryptStringAsyncReturnValue> {
    await this.#ask('decrypt');
    const [version, owner, result = ''] = bytes.toString().split(' ');
    if (version !== 'v10' && (this.mode !== 'open' || owner !== this.owner))
      throw new Error('Temporarily unavailable, try again');
    return { result, shouldReEncrypt: this.shouldReEncrypt };
  }
  /** Answers what waits for an answer. */
  readonly answer = (): void => this.#silence.resolve();
  #ask(question: string): Promise<void> {
    this.questions.push(question);
    return this.mode === 'silent' ? this.#silence.promise : Promise.resolve();
  }
}

export type FakeElectron = ReturnType<typeof createFakeElectron>;

export function createFakeElectron(platform: NodeJS.Platform = 'linux') {
  const app = new FakeApp(platform);
  const windows: FakeWindow[] = [];
  const sessionWindows: EventEmitter[] = [];
  const menus: FakeMenu[] = [];
  const trays: FakeTray[] = [];
  const power = new FakePower();
  const screen = new EventEmitter();
  const safeStorage = new FakeSafeStorage(platform);
  const notifications: FakeNotification[] = [];
  const seen = {
    errors: [] as { title: string; content: string }[],
    /** Boxes that leave the process running. */
    boxes: [] as Electron.MessageBoxOptions[],
    copied: [] as string[],
    openedOutside: [] as string[],
    openedPaths: [] as string[],
    /** The index of the button that is clicked in each box, in order; `cancelId` if there is none left. */
    clicks: [] as number[],
    /** Nobody clicks: a box stays until the app closes it. */
    isOwnerAway: false,
    appMenu: null as FakeMenu | null,
    nextLoadError: null as Error | null,
  };

  /** The event comes with the last window, one without a page included; the app quits unless it listens. */
  function closed(): void {
    if (windows.some((window) => !window.isDestroyed()) || sessionWindows.length > 0) return;
    if (app.listenerCount('window-all-closed') === 0) app.quit();
    app.emit('window-all-closed');
  }

  class BrowserWindow extends FakeWindow {
    constructor(options: Electron.BrowserWindowConstructorOptions) {
      const isTaken = windows.some(
        (each) => !each.isDestroyed() && each.options.name === options.name,
      );
      if (isTaken) throw new Error(`There is a window "${options.name}"`);
      super(options);
      this.loadError = seen.nextLoadError;
      seen.nextLoadError = null;
      windows.push(this);
      this.on('closed', closed);
    }
  }

  // Of each part only what the shell uses.
  const electron = {
    app,
    BrowserWindow,
    BaseWindow: class extends EventEmitter {
      constructor() {
        super();
        sessionWindows.push(this);
      }
    },
    Tray: class extends FakeTray {
      constructor(image: string) {
        super(image);
        trays.push(this);
      }
    },
    Menu: {
      buildFromTemplate(template: readonly Electron.MenuItemConstructorOptions[]) {
        const menu = new FakeMenu(template);
        menus.push(menu);
        return menu;
      },
      setApplicationMenu: (menu: FakeMenu) => void (seen.appMenu = menu),
    },
    dialog: {
      showErrorBox(title: string, content: string) {
        // Before that, Linux writes it where nobody reads it.
        if (app.isReady || platform !== 'linux') seen.errors.push({ title, content });
      },
      showMessageBox(...given: unknown[]) {
        const box = given.at(-1) as Electron.MessageBoxOptions;
        seen.boxes.push(box);
        const { cancelId = 0, signal } = box;
        const answer = (response: number) => ({ response, checkboxChecked: false });
        if (!seen.isOwnerAway) return Promise.resolve(answer(seen.clicks.shift() ?? cancelId));
        return new Promise((resolve) => {
          signal?.addEventListener('abort', () => resolve(answer(cancelId)), { once: true });
        });
      },
    },
    shell: {
      openExternal: (url: string) => Promise.resolve(void seen.openedOutside.push(url)),
      openPath(path: string) {
        seen.openedPaths.push(path);
        return Promise.resolve('');
      },
    },
    powerMonitor: power,
    Notification: class extends FakeNotification {
      static isSupported(): boolean {
        return true;
      }
      constructor(options: Electron.NotificationConstructorOptions) {
        super(options);
        notifications.push(this);
      }
    },
    screen,
    safeStorage,
    utilityProcess: { fork: () => ({ on: () => undefined }) },
    clipboard: { writeText: (text: string) => Promise.resolve(void seen.copied.push(text)) },
  };
  return {
    electron: electron as unknown as typeof Electron,
    app,
    windows,
    sessionWindows,
    menus,
    trays,
    power,
    screen,
    safeStorage,
    notifications,
    seen,
  };
}
