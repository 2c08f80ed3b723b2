import type { MessageBoxOptions } from 'electron';
import { createFakeElectron, FakeWindow } from './fake-electron.ts';

// The fake as the module `electron`, for the packed app under plain Node: fork it with `electron-module-hook.ts` by
// `--import`. It tells its parent what the windows load and what is put in boxes, and quits when it is told to.

const fake = createFakeElectron();
const { electron } = fake;
const tell = (message: object): void => void process.send?.(message);

export const app = Object.assign(fake.app, {
  // Else it would look for what lies beside a packed app.
  isPackaged: false,
  setPath: () => undefined,
  exit: (code: number) => process.exit(code),
  relaunch: ({ args = [] }: { args?: string[] }) => tell({ relaunched: args }),
});
export class BrowserWindow extends FakeWindow {
  override loadURL(url: string): Promise<void> {
    tell({ loaded: url });
    return super.loadURL(url);
  }
}

export const dialog = {
  showErrorBox: (title: string, content: string) => tell({ box: `${title}: ${content}` }),
  showMessageBox: (...given: unknown[]) => {
    const box = given.at(-1) as MessageBoxOptions;
    tell({ box: `${box.message} ${box.detail} ${box.buttons?.join(', ')}` });
    return Promise.resolve({ response: box.cancelId ?? 0, checkboxChecked: false });
  },
};

/** None, as in a session without one. */
export const safeStorage = {
  getSelectedStorageBackend: () => 'basic_text',
  isAsyncEncryptionAvailable: () => Promise.resolve(false),
};
export const utilityProcess = { fork: () => ({ on: () => undefined }) };

export const { BaseWindow, Menu, Notification, Tray, clipboard, screen, shell } = electron;
export const { powerMonitor, powerSaveBlocker } = electron;

function fail(): never {
  throw new Error('an error that nothing catches');
}

process.on('message', (message) => {
  if (message === 'quit') app.quit();
  if (message === 'crash') setImmediate(fail);
});
