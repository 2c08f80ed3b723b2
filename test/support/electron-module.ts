import { createFakeElectron } from './fake-electron.ts';

// The fake as the module `electron`, for the packed app under plain Node: fork it with `electron-module-hook.ts` by
// `--import`. It tells its parent what the windows load and what is put in boxes, and quits when it is told to.

const fake = createFakeElectron();
const { electron } = fake;
const tell = (message: object): void => void process.send?.(message);

export const app = Object.assign(fake.app, {
  isPackaged: true,
  setPath: () => undefined,
  exit: (code: number) => process.exit(code),
});
export const { Menu, Tray, clipboard, screen, shell } = electron;
export const { powerMonitor } = electron;
export const utilityProcess = { fork: () => ({ on: () => undefined }) };

export class BrowserWindow extends electron.BrowserWindow {
  constructor(options: ConstructorParameters<typeof electron.BrowserWindow>[0]) {
    super(options);
    const load = this.loadURL.bind(this);
    this.loadURL = (url) => {
      tell({ loaded: url });
      return load(url);
    };
  }
}

export const dialog: typeof electron.dialog = {
  showErrorBox: (title, content) => tell({ box: `${title}: ${content}` }),
  showMessageBox: (...given: unknown[]) => {
    tell({ box: JSON.stringify(given.at(-1)) });
    return Promise.resolve({ response: 2, checkboxChecked: false });
  },
};

process.on('message', (message) => {
  if (message === 'quit') app.quit();
});
