import { EventEmitter } from 'node:events';
import type {
  BaseWindowConstructorOptions,
  BrowserWindowConstructorOptions,
  MenuItemConstructorOptions,
  MessageBoxOptions,
  NotificationConstructorOptions,
  Rectangle,
} from 'electron';
import type * as Electron from 'electron';

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
  preventDefault(): void {
    this.prevented = true;
  }
}

export class FakeNotification extends EventEmitter {
  readonly options: NotificationConstructorOptions;
  isShown = false;
  constructor(options: NotificationConstructorOptions) {
    super();
    this.options = options;
  }
  show(): void {
    this.isShown = true;
  }
}

class FakePower extends EventEmitter {
  /** As Linux and macOS before a shutdown; false if the app has not asked the system to wait. */
  shutDown(): boolean {
    const event = new FakeEvent();
    this.emit('shutdown', event);
    return event.prevented;
  }
}

type LoginItemSettings = Electron.Settings;

class FakeApp extends EventEmitter {
  loginItem: Partial<Electron.LoginItemSettings> = {};
  dockShown = true;
  readonly dock = {
    show: () => {
      this.dockShown = true;
      return Promise.resolve();
    },
    hide: () => {
      this.dockShown = false;
    },
  };
  /** The version in the About panel, and how often it was shown. */
  readonly about = { version: '', shown: 0 };
  userModelId = '';
  setAppUserModelId(id: string): void {
    this.userModelId = id;
  }
  setAboutPanelOptions({ applicationVersion }: { applicationVersion?: string }): void {
    this.about.version = applicationVersion ?? '';
  }
  showAboutPanel(): void {
    this.about.shown++;
  }
  getLoginItemSettings(): Electron.LoginItemSettings {
    return {
      openAtLogin: false,
      wasOpenedAtLogin: false,
      status: 'not-registered',
      executableWillLaunchAtLogin: true,
      launchItems: [],
      ...this.loginItem,
    };
  }
  /** What it is started with at login. */
  loginArgs: readonly string[] = [];
  setLoginItemSettings({ openAtLogin = false, args = [] }: LoginItemSettings): void {
    this.loginArgs = args;
    this.loginItem = { ...this.loginItem, openAtLogin };
  }
  isFirst = true;
  readonly switches = new Set<string>();
  readonly commandLine = { hasSwitch: (name: string): boolean => this.switches.has(name) };
  /** What was asked of the app, in order. */
  readonly calls: string[] = [];
  requestSingleInstanceLock(): boolean {
    this.calls.push('lock');
    return this.isFirst;
  }
  enableSandbox(): void {
    this.calls.push('sandbox');
  }
  whenReady(): Promise<void> {
    this.calls.push('ready');
    return Promise.resolve();
  }
  /** As Electron: asks `before-quit` first. */
  quit(): void {
    const event = new FakeEvent();
    this.emit('before-quit', event);
    if (!event.prevented) this.calls.push('quit');
  }
  exit(code = 0): void {
    this.calls.push(`exit ${code}`);
  }
  /** How often it was made the active app. */
  focused = 0;
  focus(): void {
    this.focused++;
  }
  relaunch({ args = [], execPath }: { args?: string[]; execPath?: string } = {}): void {
    this.calls.push(['relaunch', ...(execPath === undefined ? [] : [execPath]), ...args].join(' '));
  }
}

class FakeContents extends EventEmitter {
  check: CheckHandler = () => true;
  request: RequestHandler = (_contents, _permission, callback) => callback(true);
  openHandler: () => { action: 'allow' | 'deny' } = () => ({ action: 'allow' });
  readonly session = {
    setPermissionCheckHandler: (handler: CheckHandler) => {
      this.check = handler;
    },
    setPermissionRequestHandler: (handler: RequestHandler) => {
      this.request = handler;
    },
  };
  setWindowOpenHandler(handler: () => { action: 'deny' }): void {
    this.openHandler = handler;
  }
}

export class FakeWindow extends EventEmitter {
  readonly options: BrowserWindowConstructorOptions;
  readonly webContents = new FakeContents();
  readonly loaded: string[] = [];
  bounds: Rectangle = { x: 100, y: 80, width: 1180, height: 800 };
  state: 'hidden' | 'shown' | 'minimized' | 'destroyed' = 'hidden';
  focused = 0;
  loadError: Error | null = null;
  constructor(options: BrowserWindowConstructorOptions) {
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
  getBounds(): Rectangle {
    return this.bounds;
  }
  center(): void {
    this.bounds = { ...this.bounds, x: 300, y: 100 };
  }
  hide(): void {
    this.state = 'hidden';
    this.emit('hide');
  }
  focus(): void {
    this.focused++;
  }
  minimize(): void {
    this.state = 'minimized';
  }
  restore(): void {
    this.state = 'shown';
  }
  isVisible(): boolean {
    return this.state === 'shown';
  }
  isMinimized(): boolean {
    return this.state === 'minimized';
  }
  isDestroyed(): boolean {
    return this.state === 'destroyed';
  }
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

/** A window without a page. */
export class FakeSessionWindow extends EventEmitter {
  readonly options: BaseWindowConstructorOptions;
  constructor(options: BaseWindowConstructorOptions) {
    super();
    this.options = options;
  }
}

export class FakeMenu extends EventEmitter {
  readonly items: readonly MenuItemConstructorOptions[];
  constructor(items: readonly MenuItemConstructorOptions[]) {
    super();
    this.items = items;
  }
  /** Opened under the pointer, as a menu of its own. */
  isOpened = false;
  popup(): void {
    this.isOpened = true;
  }
  item(label: string): MenuItemConstructorOptions {
    const found = this.items.find((entry) => entry.label?.startsWith(label) === true);
    if (found === undefined) throw new Error(`no menu item "${label}"`);
    return found;
  }
  click(label: string): void {
    // Our handlers take none of the three arguments that Electron passes.
    (this.item(label).click as (() => void) | undefined)?.();
  }
}

export class FakeTray extends EventEmitter {
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
  setImage(image: string): void {
    this.images.push(image);
  }
  setToolTip(text: string): void {
    this.tooltips.push(text);
  }
  setContextMenu(menu: FakeMenu | null): void {
    if (menu !== null) this.menus.push(menu);
  }
  destroy(): void {
    this.removed = true;
  }
}

export interface FakeElectron {
  readonly electron: typeof Electron;
  readonly app: FakeApp;
  readonly windows: readonly FakeWindow[];
  readonly sessionWindows: readonly FakeSessionWindow[];
  /** All that were ever made. */
  readonly menus: readonly FakeMenu[];
  readonly trays: readonly FakeTray[];
  readonly errors: readonly { readonly title: string; readonly content: string }[];
  /** Boxes that leave the process running, each on a window. */
  readonly boxes: readonly MessageBoxOptions[];
  readonly copied: readonly string[];
  readonly openedOutside: readonly string[];
  readonly openedPaths: readonly string[];
  readonly power: FakePower;
  readonly notifications: readonly FakeNotification[];
  /** Blockers of sleep that hold now. */
  readonly blockers: ReadonlySet<number>;
  readonly displays: { workArea: Rectangle }[];
  /** The index of the button that is clicked in each box without a window, in order. */
  readonly clicks: number[];
  /** Nobody clicks: a box stays until the app closes it. */
  isOwnerAway: boolean;
  appMenu(): FakeMenu | null;
  /** The next window's page cannot be loaded. */
  failNextLoad(error: Error): void;
}

/** A stand-in for the few parts of Electron that the shell uses; it remembers what was done to it. */
export function createFakeElectron(): FakeElectron {
  const app = new FakeApp();
  const windows: FakeWindow[] = [];
  const sessionWindows: FakeSessionWindow[] = [];
  const menus: FakeMenu[] = [];
  const trays: FakeTray[] = [];
  const errors: { title: string; content: string }[] = [];
  const boxes: MessageBoxOptions[] = [];
  const copied: string[] = [];
  const openedOutside: string[] = [];
  const openedPaths: string[] = [];
  const clicks: number[] = [];
  const power = new FakePower();
  const notifications: FakeNotification[] = [];
  const blockers = new Set<number>();
  let blockersMade = 0;
  const displays = [{ workArea: { x: 0, y: 0, width: 1920, height: 1040 } }];
  let appMenu: FakeMenu | null = null;
  let nextLoadError: Error | null = null;

  // Of each part only what the shell uses.
  const electron = {
    app,
    BrowserWindow: class extends FakeWindow {
      constructor(options: BrowserWindowConstructorOptions) {
        super(options);
        this.loadError = nextLoadError;
        nextLoadError = null;
        windows.push(this);
      }
    },
    BaseWindow: class extends FakeSessionWindow {
      constructor(options: BaseWindowConstructorOptions) {
        super(options);
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
      buildFromTemplate(template: readonly MenuItemConstructorOptions[]) {
        const menu = new FakeMenu(template);
        menus.push(menu);
        return menu;
      },
      setApplicationMenu: (menu: FakeMenu | null) => {
        appMenu = menu;
      },
    },
    dialog: {
      showErrorBox: (title: string, content: string) => void errors.push({ title, content }),
      showMessageBox: (...given: unknown[]) => {
        const box = given.at(-1) as MessageBoxOptions;
        boxes.push(box);
        const { cancelId = 0, signal } = box;
        const answer = (response: number) => ({ response, checkboxChecked: false });
        if (!fake.isOwnerAway) return Promise.resolve(answer(clicks.shift() ?? cancelId));
        return new Promise((resolve) => {
          signal?.addEventListener('abort', () => resolve(answer(cancelId)), { once: true });
        });
      },
    },
    shell: {
      openExternal: (url: string) => Promise.resolve(void openedOutside.push(url)),
      openPath: (path: string) => {
        openedPaths.push(path);
        return Promise.resolve('');
      },
    },
    powerMonitor: power,
    powerSaveBlocker: {
      start() {
        blockers.add(++blockersMade);
        return blockersMade;
      },
      stop: (id: number) => blockers.delete(id),
    },
    Notification: class extends FakeNotification {
      static isSupported(): boolean {
        return true;
      }
      constructor(options: NotificationConstructorOptions) {
        super(options);
        notifications.push(this);
      }
    },
    screen: { getDisplayMatching: () => displays.at(-1) },
    clipboard: { writeText: (text: string) => Promise.resolve(void copied.push(text)) },
  };
  const fake: FakeElectron = {
    electron: electron as unknown as typeof Electron,
    app,
    windows,
    sessionWindows,
    menus,
    trays,
    errors,
    boxes,
    copied,
    openedOutside,
    openedPaths,
    power,
    notifications,
    blockers,
    displays,
    clicks,
    appMenu: () => appMenu,
    failNextLoad: (error) => {
      nextLoadError = error;
    },
    isOwnerAway: false,
  };
  return fake;
}
