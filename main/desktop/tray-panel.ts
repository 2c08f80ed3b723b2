import { execFile } from 'node:child_process';

/** The part of a desktop that shows tray icons; Electron's Tray says nothing about it. */
export interface TrayPanel {
  /** Whether it would show an icon that is created now. */
  isThere(): Promise<boolean>;
  /** Whether it shows our icon. */
  hasOurs(): Promise<boolean>;
}

/** Resolves with a command's output; rejects if it fails or is missing. */
export type RunCommand = (command: string, args: readonly string[]) => Promise<string>;

const runCommand: RunCommand = (command, args) =>
  new Promise((resolve, reject) => {
    execFile(command, args, { timeout: 1000 }, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(error);
    });
  });

const ALWAYS: TrayPanel = {
  isThere: () => Promise.resolve(true),
  hasOurs: () => Promise.resolve(true),
};

const BUS = { name: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus' };
/** https://www.freedesktop.org/wiki/Specifications/StatusNotifierItem/StatusNotifierWatcher/ */
const WATCHER = { name: 'org.kde.StatusNotifierWatcher', path: '/StatusNotifierWatcher' };

/** `pid`: of the process that creates the icon. What cannot be determined counts as no. */
export function openTrayPanel(
  platform: NodeJS.Platform,
  pid: number,
  run: RunCommand = runCommand,
): TrayPanel {
  if (platform !== 'linux') return ALWAYS;

  async function ask(of: typeof BUS, method: string, words: readonly string[]): Promise<string> {
    const call = ['--session', '--print-reply', `--dest=${of.name}`, of.path, method];
    try {
      return await run('dbus-send', [...call, ...words.map((word) => `string:${word}`)]);
    } catch {
      return '';
    }
  }
  const askBus = (method: string, name: string) => ask(BUS, `${BUS.name}.${method}`, [name]);
  const read = (property: string) =>
    ask(WATCHER, 'org.freedesktop.DBus.Properties.Get', [WATCHER.name, property]);

  async function isThere(): Promise<boolean> {
    // The name first: a request for a property could make the bus start a watcher without a panel.
    if (!isTrue(await askBus('NameHasOwner', WATCHER.name))) return false;
    return isTrue(await read('IsStatusNotifierHostRegistered'));
  }

  return {
    isThere,
    async hasOurs() {
      if (!(await isThere())) return false;
      const owners = connectionsIn(await read('RegisteredStatusNotifierItems')).map((name) =>
        askBus('GetConnectionUnixProcessID', name),
      );
      return (await Promise.all(owners)).some((answer) => processIn(answer) === pid);
    },
  };
}

const isTrue = (answer: string): boolean => /\bboolean true\b/.test(answer);

/** An item is the name of its connection; some watchers add its path, after a slash or an at sign. */
function connectionsIn(answer: string): readonly string[] {
  const names = [...answer.matchAll(/string "([^"/@]+)/g)].map(([, name = '']) => name);
  return [...new Set(names)];
}

function processIn(answer: string): number | null {
  const [, pid] = /\buint32 (\d+)/.exec(answer) ?? [];
  return pid === undefined ? null : Number(pid);
}
