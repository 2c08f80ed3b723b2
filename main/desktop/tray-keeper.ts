import type { Clock } from '../platform/clock.ts';
import type { TrayPanel } from './tray-panel.ts';

interface TrayKeeperDeps {
  readonly panel: TrayPanel;
  readonly clock: Clock;
  /** Makes the icon anew. */
  readonly renew: () => void;
  /** There is no icon, and none is expected any more. */
  readonly onNone: () => void;
}

/** Sees to it that the tray shows the icon. */
export interface TrayKeeper {
  /** Now. Where it could be, it is made anew, and may be there the next time. */
  isShown(): Promise<boolean>;
  stop(): void;
}

/** Between the looks after the start: at login the panel may come half a minute after us. */
const PAUSES_MS = [1000, 2000, 4000, 8000, 16_000] as const;

/**
 * Chromium looks for a panel when the icon is made and never again (status_icon_linux_dbus.cc): one that was not there
 * by then would not show the icon until the app starts anew.
 */
export function keepTray({ panel, clock, renew, onNone }: TrayKeeperDeps): TrayKeeper {
  let isStopped = false;
  let cancel = () => {};

  async function isShown(): Promise<boolean> {
    if (await panel.hasOurs()) return true;
    if ((await panel.isThere()) && !isStopped) renew();
    return false;
  }

  function lookAfter([pause, ...others]: readonly number[]): void {
    if (isStopped) return;
    if (pause === undefined) onNone();
    else cancel = clock.after(pause, () => void look(others));
  }

  async function look(others: readonly number[]): Promise<void> {
    if (!(await isShown())) lookAfter(others);
  }

  lookAfter(PAUSES_MS);
  return {
    isShown,
    stop() {
      isStopped = true;
      cancel();
    },
  };
}
