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
 * What this build can do about a newer version: `install` where the system checks its signature, `tell` where nothing
 * would, `none` where it knows no address to ask.
 */
export type UpdateMeans = 'install' | 'tell' | 'none';

/** `feed` is app-update.yml, which electron-builder writes beside the app where updates have an address; pure. */
export function updateMeans(platform: NodeJS.Platform, feed: string | null): UpdateMeans {
  if (feed === null) return 'none';
  // Squirrel takes nothing but what has the running app's own signature.
  if (platform === 'darwin') return 'install';
  // Without the name of its publisher, which only signed builds have, electron-updater would check nothing.
  if (platform === 'win32') return /^publisherName:/m.test(feed) ? 'install' : 'tell';
  // A package belongs to its package manager, and nothing signs an AppImage.
  return 'tell';
}

export type UpdateState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'newest' }
  | { readonly kind: 'looking' }
  | {
      readonly kind: 'available' | 'downloading' | 'ready' | 'waiting' | 'installing';
      readonly version: string;
    }
  | { readonly kind: 'failed'; readonly why: string };

const FIRST_LOOK_MS = 60_000;
const LOOK_EVERY_MS = 24 * 3_600_000;

export interface UpdateDeps {
  readonly means: 'install' | 'tell';
  readonly load: () => Promise<UpdaterApi>;
  readonly clock: Clock;
  readonly isAutomatic: () => boolean;
  readonly inFlight: () => number;
  /** Ends the gateway and lets the app quit; then the installer takes over. */
  readonly end: () => Promise<void>;
  /** The installer has failed after the end. */
  readonly startAgain: (why: string) => void;
  readonly changed: () => void;
}

/** Looks for newer versions; nothing is downloaded or installed without the owner's click. */
export interface Updates {
  readonly means: 'install' | 'tell';
  state(): UpdateState;
  /** What the menu offers now: look, download, or install. */
  proceed(): void;
  /** Requests have begun or ended: an installation that waits may go on. */
  requestsChanged(): void;
  stop(): void;
}

export function createUpdates(deps: UpdateDeps): Updates {
  const { means, clock, inFlight } = deps;
  let state: UpdateState = { kind: 'idle' };
  let loading: Promise<UpdaterApi> | null = null;
  let cancel = clock.after(FIRST_LOOK_MS, lookBySelf);

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
    // Never on quit: the end of the session would break it off.
    updater.autoInstallOnAppQuit = false;
    updater.on('update-available', ({ version }) => become({ kind: 'available', version }));
    updater.on('update-not-available', () => become({ kind: 'newest' }));
    updater.on('update-downloaded', ({ version }) => become({ kind: 'ready', version }));
    updater.on('error', fail);
    return updater;
  }

  function use(step: (updater: UpdaterApi) => Promise<unknown>): void {
    loading ??= load();
    loading.then(step).catch(fail);
  }

  function look(): void {
    become({ kind: 'looking' });
    use((updater) => updater.checkForUpdates());
  }

  function lookBySelf(): void {
    cancel = clock.after(LOOK_EVERY_MS, lookBySelf);
    const isResting = state.kind === 'idle' || state.kind === 'newest' || state.kind === 'failed';
    if (deps.isAutomatic() && isResting) look();
  }

  function installWhenIdle(version: string): void {
    if (inFlight() > 0) {
      become({ kind: 'waiting', version });
      return;
    }
    // The end of the gateway tells of changes as well, and each would install once more.
    become({ kind: 'installing', version });
    use(async (updater) => {
      await deps.end();
      updater.quitAndInstall(false, true);
    });
  }

  return {
    means,
    state: () => state,
    proceed() {
      switch (state.kind) {
        case 'looking':
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
        // Asked again, it waits no longer for a quiet moment.
        case 'waiting':
          become({ kind: 'ready', version: state.version });
          return;
        default:
          look();
      }
    },
    requestsChanged() {
      if (state.kind === 'waiting' && inFlight() === 0) installWhenIdle(state.version);
    },
    stop: () => cancel(),
  };
}
