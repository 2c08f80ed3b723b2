import type * as Electron from 'electron';
import { createFakeElectron, FakeWindow } from './fake-electron.ts';

// The fake as the module `electron`, for the built app under plain Node: fork it with `electron-module-hook.ts` by
// `--import`. It tells its parent what the windows load, what is opened outside and what is put in boxes, and quits when
// it is told to. Its keyring is what FAKE_KEYRING says.

const fake = createFakeElectron('linux');
const { electron } = fake;
const tell = (message: object): void => void process.send?.(message);
const keyring = process.env['FAKE_KEYRING'];
fake.safeStorage.mode = keyring === 'open' || keyring === 'silent' ? keyring : 'absent';

export const app = Object.assign(fake.app, {
  // Else it would look for what lies beside a packed app.
  isPackaged: false,
  exit: (code: number) => process.exit(code),
  relaunch: ({ args = [] }: { args?: string[] }) => tell({ relaunched: args }),
});

export class BrowserWindow extends FakeWindow {
  override loadURL(url: string): Promise<void> {
    tell({ loaded: url, calls: fake.app.calls, paths: fake.app.paths });
    return super.loadURL(url);
  }
}

export const dialog = {
  showErrorBox: (title: string, content: string) => tell({ box: `${title}: ${content}` }),
  showMessageBox: (...given: unknown[]) => {
    const box = given.at(-1) as Electron.MessageBoxOptions;
    tell({ box: `${box.message} ${box.detail} ${box.buttons?.join(', ')}` });
    return Promise.resolve({ response: box.cancelId ?? 0, checkboxChecked: false });
  },
};

export const shell = { ...electron.shell, openExternal: (url: string) => tell({ outside: url }) };

export const { BaseWindow, Menu, Notification, Tray, clipboard, powerMonitor } = electron;
export const { safeStorage, screen, utilityProcess } = electron;

function fail(): never {
  throw new Error('an error that nothing catches');
}

process.on('message', (message) => {
  if (message === 'quit') app.quit();
  if (message === 'crash') setImmediate(fail);
});
