import type { ElectronApi, PowerBlockerApi } from './electron-api.ts';
import type { HostApi } from './host-api.ts';
import type { Preferences } from './preferences.ts';

/** Keeps the system awake while there is a reason; blocks nothing otherwise. */
export function createWakefulness(blocker: PowerBlockerApi): {
  /** `isNeeded`: the owner has chosen it and requests run. */
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
}

/**
 * Before sleep the machine is drained, so that gateways stop asking it; afterwards it takes work again and everything
 * is checked again. Remembered on disk, because a machine may lose power while it sleeps.
 */
export function followSleep({ powerMonitor, host, preferences }: SleepDeps): void {
  async function wake(): Promise<void> {
    if (!preferences.current().isDrainedForSleep) return;
    preferences.change({ isDrainedForSleep: false });
    await host.setMachine('on');
  }

  powerMonitor.on('suspend', () => {
    if (host.machine() !== 'on') return;
    preferences.change({ isDrainedForSleep: true });
    void host.setMachine('drained');
  });
  powerMonitor.on('resume', () => {
    host.resumed();
    void wake();
  });
  void wake();
}
