import { messageOf } from '../platform/errors.ts';
import type { Clock } from '../platform/clock.ts';

/** The part of electron-updater that is used; main/electron.ts passes the real one. */
export interface UpdaterApi {
  autoDownload: boolean;
  autoInstallOnAppQuit: boolean;
  on(event: 'update-available', listener: (found: { readonly version: string }) => void): unknown;
  on(event: 'update-not-available', listener: () => void): unknown;
  on(event: 'update-downloaded', listener: (found: { readonly version: string }) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  checkForUpdates(): Promise<unknown>;
  downloadUpdate(): Promise<unknown>;
  quitAndInstall(isSilent: boolean, isForceRunAfter: boolean): void;
}

/**
 * What this build can do about a newer version: `install` if the system checks its signature, `tell` if nothing would,
 * `none` without an update address.
 */
export type UpdateMeans = 'install' | 'tell' | 'none';

/** `feed` is app-update.yml, which electron-builder writes beside the app if updates have an address; pure. */
export function updateMeans(platform: NodeJS.Platform, feed: string | null): UpdateMeans {
  if (feed === null) return 'none';
  // Squirrel accepts only updates with the running app's signature.
  if (platform === 'darwin') return 'install';
  // Without the publisher's name, which only signed builds have, electron-updater would check nothing.
  if (platform === 'win32') return /^publisherName:/m.test(feed) ? 'install' : 'tell';
  // A package belongs to its package manager, and nothing signs an AppImage.
  return 'tell';
}

export type UpdateState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'newest' }
  | { readonly kind: 'checking' }
  | {
      readonly kind: 'available' | 'downloading' | 'ready' | 'waiting' | 'installing';
      readonly version: string;
    }
  | { readonly kind: 'failed'; readonly why: string };

const FIRST_CHECK_MS = 60_000;
const CHECK_EVERY_MS = 24 * 3_600_000;

export interface UpdateDeps {
  readonly means: 'install' | 'tell';
  readonly load: () => Promise<UpdaterApi>;
  readonly clock: Clock;
  readonly isAutomatic: () => boolean;
  readonly inFlight: () => number;
  /** Stops the gateway and lets the app quit; then the installer takes over. */
  readonly end: () => Promise<void>;
  /** The installer failed after the gateway had stopped. */
  readonly startAgain: (why: string) => void;
  readonly changed: () => void;
}

/** Checks for newer versions; nothing is downloaded or installed without the owner's click. */
export type Updates = ReturnType<typeof createUpdates>;

export function createUpdates(deps: UpdateDeps) {
  const { means, clock, inFlight } = deps;
  let state: UpdateState = { kind: 'idle' };
  let loading: Promise<UpdaterApi> | null = null;
  let cancel = clock.after(FIRST_CHECK_MS, checkAutomatically);

  function become(next: UpdateState): void {
    state = next;
    deps.changed();
  }

  function fail(error: unknown): void {
    const why = messageOf(error);
    if (state.kind === 'installing') deps.startAgain(why);
    else become({ kind: 'failed', why });
  }

  async function load(): Promise<UpdaterApi> {
    const updater = await deps.load();
    updater.autoDownload = false;
    // Never on quit: the end of the session would interrupt it.
    updater.autoInstallOnAppQuit = false;
    updater.on('update-available', ({ version }) => become({ kind: 'available', version }));
    updater.on('update-not-available', () => become({ kind: 'newest' }));
    updater.on('update-downloaded', ({ version }) => become({ kind: 'ready', version }));
    updater.on('error', fail);
    return updater;
  }

  function use(step: (updater: UpdaterApi) => Promise<unknown>): void {
    loading ??= load().catch((error: unknown) => {
      // The next check loads it again.
      loading = null;
      throw error;
    });
    loading.then(step).catch(fail);
  }

  function check(): void {
    become({ kind: 'checking' });
    use((updater) => updater.checkForUpdates());
  }

  function checkAutomatically(): void {
    cancel = clock.after(CHECK_EVERY_MS, checkAutomatically);
    const isResting = state.kind === 'idle' || state.kind === 'newest' || state.kind === 'failed';
    if (deps.isAutomatic() && isResting) check();
  }

  function installWhenIdle(version: string): void {
    if (inFlight() > 0) {
      become({ kind: 'waiting', version });
      return;
    }
    // The stopping gateway reports changes too, and each would install again.
    become({ kind: 'installing', version });
    use(async (updater) => {
      await deps.end();
      updater.quitAndInstall(false, true);
    });
  }

  return {
    means,
    state: () => state,
    /** Does what the menu offers now: check, download or install. */
    proceed() {
      switch (state.kind) {
        case 'checking':
        case 'downloading':
        case 'installing':
          return;
        case 'available':
          if (means === 'tell') return;
          become({ kind: 'downloading', version: state.version });
          use((updater) => updater.downloadUpdate());
          return;
        case 'ready':
          installWhenIdle(state.version);
          return;
        // A second click cancels the wait.
        case 'waiting':
          become({ kind: 'ready', version: state.version });
          return;
        default:
          check();
      }
    },
    /** Requests have begun or ended: a waiting installation may proceed. */
    requestsChanged() {
      if (state.kind === 'waiting' && inFlight() === 0) installWhenIdle(state.version);
    },
    stop: () => cancel(),
  };
}
