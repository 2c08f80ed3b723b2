import { execFile } from 'node:child_process';

const QUESTION = [
  '--session',
  '--print-reply',
  '--dest=org.freedesktop.DBus',
  '/org/freedesktop/DBus',
  'org.freedesktop.DBus.NameHasOwner',
  'string:org.kde.StatusNotifierWatcher',
];

/** Runs a command and gives its output; rejects when it fails or is absent. */
export type Ask = (command: string, args: readonly string[]) => Promise<string>;

const ask: Ask = (command, args) =>
  new Promise((resolve, reject) => {
    execFile(command, args, { timeout: 1000 }, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(error);
    });
  });

/**
 * Whether somebody shows tray icons here. Linux may have no panel for them (GNOME without its
 * extension), and Electron's Tray does not tell; when it cannot be learnt, the answer is no.
 */
export async function hasTrayPanel(platform: NodeJS.Platform, run: Ask = ask): Promise<boolean> {
  if (platform !== 'linux') return true;
  try {
    return (await run('dbus-send', QUESTION)).includes('boolean true');
  } catch {
    return false;
  }
}
