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
  /** The installer failed after the gateway had stopped. */
  readonly startAgain: (why: string) => void;
  readonly changed: () => void;
}

const FIRST_CHECK_MS = 60_000;
const CHECK_EVERY_MS = 24 * 3_600_000;

export type Updates = ReturnType<typeof createUpdates>;

/** Checks for newer versions; nothing is downloaded or installed without the owner's click. */
export function createUpdates(deps: UpdateDeps) {
  /** What the menu offers; nothing can be clicked while a step runs. */
  let offered: { readonly words: string; readonly click: (() => void) | null };
  let cancel = deps.clock.after(FIRST_CHECK_MS, checkDaily);
  const look = () => run('Checking for updates…', check);

  function offer(words: string, click: (() => void) | null = null): void {
    offered = { words, click };
    deps.changed();
  }

  function run(words: string, step: () => Promise<void>): void {
    offer(words);
    step().catch((error: unknown) =>
      offer(`Check for updates (last time: ${messageOf(error).slice(0, 80)})`, look),
    );
  }

  async function check(): Promise<void> {
    const updater = await deps.load();
    // Never on quit either: the end of the session would interrupt the installer.
    Object.assign(updater, { autoDownload: false, autoInstallOnAppQuit: false });
    const found = await updater.checkForUpdates();
    const version = found?.isUpdateAvailable === true ? found.updateInfo.version : null;
    if (version === null) offer('Check for updates (this is the newest version)', look);
    else if (deps.means === 'tell')
      offer(`Version ${version} is available: install it as you installed this one`);
    else offer(`Download version ${version}`, () => download(updater, version));
  }

  function download(updater: AppUpdater, version: string): void {
    run(`Downloading version ${version}…`, async () => {
      await updater.downloadUpdate();
      offer(`Restart into version ${version}`, () => install(updater, version));
    });
  }

  function install(updater: AppUpdater, version: string): void {
    run(`Restarting into version ${version}…`, async () => {
      await deps.end();
      updater.once('error', (error) => deps.startAgain(messageOf(error)));
      updater.quitAndInstall(false, true);
    });
  }

  function checkDaily(): void {
    cancel = deps.clock.after(CHECK_EVERY_MS, checkDaily);
    if (deps.isAutomatic() && offered.click === look) look();
  }

  offered = { words: 'Check for updates', click: look };
  return { offered: () => offered, stop: () => cancel() };
}
