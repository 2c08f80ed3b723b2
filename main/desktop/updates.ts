import { once } from 'node:events';
import type { AppUpdater } from 'electron-updater';
import { messageOf } from '../platform/errors.ts';
import type { ShellDeps, UpdateSource } from './system.ts';

/** Null if there is no update address, for which electron-builder writes app-update.yml, here `feed`. Pure. */
export function updateMeans(
  platform: NodeJS.Platform,
  feed: string | null,
): UpdateSource['means'] | null {
  if (feed === null) return null;
  // Squirrel accepts only updates with the running app's signature. On Windows electron-updater checks the publisher's
  // name, which only signed builds have. A package for Linux has none, and belongs to its package manager.
  return platform === 'darwin' || /^publisherName:/m.test(feed) ? 'install' : 'tell';
}

interface UpdatedShell {
  /** Stops the gateway, which waits for running requests; then the installer takes over. */
  readonly end: () => Promise<void>;
  readonly changed: () => void;
}

export type Updates = NonNullable<ReturnType<typeof createUpdates>>;

/** Checks for newer versions; nothing is downloaded or installed without the owner's click. */
export function createUpdates(
  { updater: source, clock, preferences }: ShellDeps,
  shell: UpdatedShell,
) {
  if (source === null) return null;
  const { means, load } = source;
  const look = () => run('Checking for updates…', check);
  let cancel = clock.after(60_000, checkDaily);
  /** What the menu offers; nothing can be clicked while a step runs. */
  let offered: readonly [words: string, click?: () => void] = ['Check for updates', look];

  function offer(...next: typeof offered): void {
    offered = next;
    shell.changed();
  }

  function run(words: string, step: () => Promise<void>): void {
    offer(words);
    step().catch((error: unknown) =>
      offer(`Check for updates (last time: ${messageOf(error).slice(0, 80)})`, look),
    );
  }

  async function check(): Promise<void> {
    const updater = await load();
    // Nothing is installed on quit either: the end of the session would interrupt the installer.
    Object.assign(updater, { autoDownload: false, autoInstallOnAppQuit: false });
    const found = await updater.checkForUpdates();
    const version = found?.isUpdateAvailable === true ? found.updateInfo.version : null;
    if (version === null) return offer('Check for updates (this is the newest version)', look);
    if (means === 'tell')
      return offer(`Version ${version} is available: install it as you installed this one`);
    offer(`Download version ${version}`, () =>
      run(`Downloading version ${version}…`, async () => {
        await updater.downloadUpdate();
        offer(`Restart into version ${version}`, () => void install(updater));
      }),
    );
  }

  async function install(updater: AppUpdater): Promise<void> {
    offer('Restarting…');
    await shell.end();
    const failed = once(updater, 'error') as Promise<[Error]>;
    updater.quitAndInstall(false, true);
    // The gateway has stopped, so this is a crash, after which the app starts again.
    throw (await failed)[0];
  }

  function checkDaily(): void {
    cancel = clock.after(24 * 3_600_000, checkDaily);
    if (preferences.current().looksForUpdates && offered[1] === look) look();
  }

  return { offered: () => offered, stop: () => cancel() };
}
