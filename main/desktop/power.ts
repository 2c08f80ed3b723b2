import type * as Electron from 'electron';
import { messageOf } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { Host } from '../app/app.ts';
import type { Preferences } from './preferences.ts';
import { withTimeout } from '../platform/async.ts';
import type { Clock } from '../platform/clock.ts';

/** Keeps the system awake while there is a reason to. */
export function createSleepBlocker(blocker: Electron.PowerSaveBlocker) {
  let id: number | null = null;
  return {
    /** `isNeeded`: the owner has chosen it and requests are running. */
    set(isNeeded: boolean) {
      if (isNeeded && id === null) id = blocker.start('prevent-app-suspension');
      if (!isNeeded && id !== null) {
        blocker.stop(id);
        id = null;
      }
    },
  };
}

interface SleepDeps {
  readonly powerMonitor: Electron.PowerMonitor;
  readonly host: Pick<Host, 'machine' | 'setMachine' | 'resumed'>;
  readonly preferences: Preferences;
  readonly log: Log;
}

/**
 * Drains the machine before sleep, so that gateways stop sending it requests; afterwards it takes requests again, and
 * everything is checked again. The state is saved on disk, because a machine may lose power while it sleeps.
 */
export function followSleep({ powerMonitor, host, preferences, log }: SleepDeps): void {
  async function change(choice: 'on' | 'drained'): Promise<boolean> {
    try {
      await host.setMachine(choice);
      return true;
    } catch (error) {
      log('error', 'mode_not_changed', { choice, error: messageOf(error) });
      return false;
    }
  }

  async function wake(): Promise<void> {
    if (!preferences.current().isDrainedForSleep) return;
    if (await change('on')) preferences.change({ isDrainedForSleep: false });
  }

  powerMonitor.on('suspend', () => {
    if (host.machine() !== 'on') return;
    preferences.change({ isDrainedForSleep: true });
    void change('drained');
  });
  powerMonitor.on('resume', () => {
    // First, so that the next heartbeat says that the machine takes requests.
    void wake();
    host.resumed();
  });
  void wake();
}

interface Stoppable {
  /** Running requests may finish for `graceMs`; by default, as long as the host allows. */
  stop(graceMs?: number): Promise<void>;
}

export type AppExit = ReturnType<typeof handleExit>;

/** The system kills what still runs after a few seconds; state must be on disk by then. */
const SESSION_END_LIMIT_MS = 2000;
/** Leaves half a second for writing state. */
const SESSION_END_GRACE_MS = 1500;

/**
 * Ends the app in one of two ways. Quitting waits for running requests; a second quit ends the app at once, and so
 * does one before the host runs. The end of the session (logout, shutdown, restart) waits for at most two seconds
 * and never prevents a quit: macOS would report that the app interrupted the shutdown.
 */
export function handleExit(
  { app, powerMonitor }: Pick<typeof Electron, 'app' | 'powerMonitor'>,
  clock: Clock,
  running: () => Stoppable | null,
) {
  let phase: 'running' | 'quitting' | 'session_ending' = 'running';

  app.on('before-quit', (event) => {
    if (phase === 'session_ending') return;
    event.preventDefault();
    const host = phase === 'running' ? running() : null;
    phase = 'quitting';
    // exit() closes windows without their close event, on which ours would only hide.
    if (host === null) app.exit(0);
    else
      host.stop().then(
        () => app.exit(0),
        () => app.exit(1),
      );
  });

  function endSession(): void {
    if (phase === 'session_ending') return;
    phase = 'session_ending';
    const stopped = running()?.stop(SESSION_END_GRACE_MS) ?? Promise.resolve();
    withTimeout(stopped, { clock, ms: SESSION_END_LIMIT_MS }).then(
      () => app.exit(0),
      () => app.exit(1),
    );
  }

  // The event is documented, but missing in Electron's types.
  powerMonitor.on('shutdown', (event?: Electron.Event) => {
    // Asks the system to wait for our exit.
    event?.preventDefault();
    endSession();
  });
  return {
    /** To be called when the session ends. */
    session: endSession,
    /** Stops as a quit does; from then on nothing keeps an installer from quitting the app. */
    async forInstaller() {
      phase = 'quitting';
      // What the gateway cannot save now, it could not save later either.
      await running()
        ?.stop()
        .catch(() => undefined);
      phase = 'session_ending';
    },
    isQuitting: () => phase === 'quitting',
  };
}

interface SessionDeps {
  readonly electron: Pick<typeof Electron, 'BaseWindow'>;
  readonly platform: NodeJS.Platform;
  readonly onTerminated: (listener: () => void) => void;
}

/** Watches what announces the end of the session besides `powerMonitor`; call it when Electron is ready. */
export function watchSession(deps: SessionDeps, end: Pick<AppExit, 'session'>): void {
  const { electron, platform, onTerminated } = deps;
  // A logout on Linux. Electron's own listener, which is registered by now, would quit, and a quit waits for requests.
  onTerminated(() => end.session());
  // The app may have no other window: it was started hidden, or its page has crashed.
  if (platform === 'win32')
    new electron.BaseWindow({ show: false, skipTaskbar: true }).on('session-end', end.session);
}
