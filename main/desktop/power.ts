import type * as Electron from 'electron';
import type { Host } from '../app/app.ts';
import { withTimeout } from '../platform/async.ts';
import type { ShellDeps } from './system.ts';

/**
 * Drains the machine before sleep, so that gateways stop sending it requests; afterwards it takes requests again, and
 * everything is checked again. The state is saved on disk, because a machine may lose power while it sleeps.
 */
export function followSleep(
  { electron, preferences }: Pick<ShellDeps, 'electron' | 'preferences'>,
  host: Pick<Host, 'machine' | 'setMachine' | 'resumed'>,
): void {
  async function wake(): Promise<void> {
    if (!preferences.current().isDrainedForSleep) return;
    await host.setMachine('on');
    preferences.change({ isDrainedForSleep: false });
  }

  electron.powerMonitor.on('suspend', () => {
    if (host.machine() !== 'on') return;
    preferences.change({ isDrainedForSleep: true });
    void host.setMachine('drained');
  });
  electron.powerMonitor.on('resume', () => {
    // This comes first, so that the next heartbeat says that the machine takes requests.
    void wake();
    host.resumed();
  });
  void wake();
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
  { electron: { app, BaseWindow, powerMonitor }, platform, events, clock }: ShellDeps,
  running: () => Pick<Host, 'stop'> | null,
) {
  let phase: 'running' | 'quitting' | 'ending' = 'running';

  function exitAfter(stopped: Promise<unknown>): void {
    // exit() closes windows without their close event, on which ours would only hide.
    stopped.then(
      () => app.exit(0),
      () => app.exit(1),
    );
  }

  app.on('before-quit', (event) => {
    if (phase === 'ending') return;
    event.preventDefault();
    const host = phase === 'running' ? running() : null;
    phase = 'quitting';
    if (host === null) app.exit(0);
    else exitAfter(host.stop());
  });

  function endSession(): void {
    if (phase === 'ending') return;
    phase = 'ending';
    const stopped = running()?.stop(SESSION_END_GRACE_MS) ?? Promise.resolve();
    exitAfter(withTimeout(stopped, { clock, ms: SESSION_END_LIMIT_MS }));
  }

  // The event is documented, but missing in Electron's types.
  powerMonitor.on('shutdown', (event?: Electron.Event) => {
    // Asks the system to wait for our exit.
    event?.preventDefault();
    endSession();
  });
  return {
    /** Is called once Electron is ready. */
    watchSession(): void {
      // A logout on Linux arrives here. Electron's own listener is already there: it would quit, and wait for requests.
      events.on('SIGTERM', endSession);
      // The app may have no other window: it was started hidden, or its page has crashed.
      if (platform === 'win32')
        new BaseWindow({ show: false, skipTaskbar: true }).on('session-end', endSession);
    },
    /** Stops as a quit does; from then on nothing keeps an installer from quitting the app. */
    async forInstaller() {
      phase = 'quitting';
      // What the gateway cannot save now, it could not save later either.
      await running()
        ?.stop()
        .catch(() => undefined);
      phase = 'ending';
    },
    isQuitting: () => phase === 'quitting',
  };
}
