import { messageOf } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { ElectronApi, PowerBlockerApi } from './electron-api.ts';
import type { HostApi } from './host-api.ts';
import type { Preferences } from './preferences.ts';

/** Keeps the system awake while there is a reason to. */
export function createSleepBlocker(blocker: PowerBlockerApi): {
  /** `isNeeded`: the owner has chosen it and requests are running. */
  set(isNeeded: boolean): void;
} {
  let id: number | null = null;
  return {
    set(isNeeded) {
      if (isNeeded && id === null) id = blocker.start('prevent-app-suspension');
      if (!isNeeded && id !== null) {
        blocker.stop(id);
        id = null;
      }
    },
  };
}

interface SleepDeps {
  readonly powerMonitor: ElectronApi['powerMonitor'];
  readonly host: Pick<HostApi, 'machine' | 'setMachine' | 'resumed'>;
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
