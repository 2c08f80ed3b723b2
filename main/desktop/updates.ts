import type { AppUpdater } from 'electron-updater';
import type { Clock } from '../platform/clock.ts';
import { messageOf } from '../platform/errors.ts';

/** What a build can do about a newer version: `install` if the system checks its signature, `tell` if nothing would. */
type UpdateMeans = 'install' | 'tell';

/** Null without an update address; `feed` is app-update.yml, which electron-builder writes for one; pure. */
export function updateMeans(platform: NodeJS.Platform, feed: string | null): UpdateMeans | null {
  if (feed === null) return null;
  // Squirrel accepts only updates with the running app's signature.
  if (platform === 'darwin') return 'install';
  // Without the publisher's name, which only signed builds have, electron-updater would check nothing.
  if (platform === 'win32') return /^publisherName:/m.test(feed) ? 'install' : 'tell';
  // A package belongs to its package manager.
  return 'tell';
}

export interface UpdateSource {
  readonly means: UpdateMeans;
  readonly load: () => Promise<AppUpdater>;
}

interface UpdateDeps extends UpdateSource {
  readonly clock: Clock;
  readonly isAutomatic: () => boolean;
  /** Stops the gateway, which waits for running requests; then the installer takes over. */
  readonly end: () => Promise<void>;
  readonly changed: () => void;
}

const FIRST_CHECK_MS = 60_000;
const CHECK_EVERY_MS = 24 * 3_600_000;

export type Updates = ReturnType<typeof createUpdates>;

/** Checks for newer versions; nothing is downloaded or installed without the owner's click. */
export function createUpdates({ means, load, clock, ...shell }: UpdateDeps) {
  const look = () => run('Checking for updates…', check);
  let cancel = clock.after(FIRST_CHECK_MS, checkDaily);
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
    // Never on quit either: the end of the session would interrupt the installer.
    Object.assign(updater, { autoDownload: false, autoInstallOnAppQuit: false });
    const found = await updater.checkForUpdates();
    const version = found?.isUpdateAvailable === true ? found.updateInfo.version : null;
    if (version === null) offer('Check for updates (this is the newest version)', look);
    else if (means === 'tell')
      offer(`Version ${version} is available: install it as you installed this one`);
    else
      offer(`Download version ${version}`, () => run(`Downloading version ${version}…`, download));

    async function download(): Promise<void> {
      await updater.downloadUpdate();
      offer(`Restart into version ${version}`, () => run('Restarting…', install));
    }

    async function install(): Promise<void> {
      await shell.end();
      // The gateway has stopped, so an installer that fails is a crash, after which the app starts again.
      updater.once('error', (error) =>
        queueMicrotask(() => {
          throw error;
        }),
      );
      updater.quitAndInstall(false, true);
    }
  }

  function checkDaily(): void {
    cancel = clock.after(CHECK_EVERY_MS, checkDaily);
    if (shell.isAutomatic() && offered[1] === look) look();
  }

  return { offered: () => offered, stop: () => cancel() };
}
