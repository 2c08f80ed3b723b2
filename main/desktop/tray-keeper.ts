import type { Clock } from '../platform/clock.ts';
import type { TrayPanel } from './tray-panel.ts';

interface TrayKeeperDeps {
  readonly panel: TrayPanel;
  readonly clock: Clock;
  /** Recreates the icon. */
  readonly renew: () => void;
  /** There is no icon, and none is expected to appear. */
  readonly onNone: () => void;
}

/** Makes sure that the tray shows the icon. */
export interface TrayKeeper {
  /** If the panel is there without the icon, recreates it, so that it may be shown by the next call. */
  isShown(): Promise<boolean>;
  stop(): void;
}

/** Between checks after the start: at login the panel may appear half a minute after the app. */
const PAUSES_MS = [1000, 2000, 4000, 8000, 16_000] as const;

/**
 * Chromium looks for a panel only when the icon is created (status_icon_linux_dbus.cc): a panel that starts later would
 * not show it until the app restarts.
 */
export function keepTray({ panel, clock, renew, onNone }: TrayKeeperDeps): TrayKeeper {
  let isStopped = false;
  let cancel = () => {};

  async function isShown(): Promise<boolean> {
    if (await panel.hasOurs()) return true;
    if ((await panel.isThere()) && !isStopped) renew();
    return false;
  }

  function checkAfter([pause, ...others]: readonly number[]): void {
    if (isStopped) return;
    if (pause === undefined) onNone();
    else cancel = clock.after(pause, () => void check(others));
  }

  async function check(others: readonly number[]): Promise<void> {
    if (!(await isShown())) checkAfter(others);
  }

  checkAfter(PAUSES_MS);
  return {
    isShown,
    stop() {
      isStopped = true;
      cancel();
    },
  };
}
