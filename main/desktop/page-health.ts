import type { Log } from '../platform/log.ts';
import type { ElectronApi, WindowApi } from './electron-api.ts';

interface PageHealthDeps {
  readonly dialog: ElectronApi['dialog'];
  readonly log: Log;
  /** Puts a new window in the place of this one. */
  readonly replace: (window: WindowApi) => void;
  /** Called instead, when that has not helped. */
  readonly giveUp: (window: WindowApi) => void;
}

/** Answers pages that crash or hang; the gateway goes on beside them. */
export interface PageHealth {
  watch(window: WindowApi): void;
}

/** A page that crashes at once after each reopening must not keep the machine busy. */
const MAX_REOPENINGS = 2;
const REOPENINGS_WINDOW_MS = 60_000;

export function createPageHealth({ dialog, log, replace, giveUp }: PageHealthDeps): PageHealth {
  let reopenedAt: readonly number[] = [];

  function reopen(window: WindowApi): void {
    const now = performance.now();
    reopenedAt = reopenedAt.filter((at) => now - at < REOPENINGS_WINDOW_MS);
    if (reopenedAt.length >= MAX_REOPENINGS) {
      giveUp(window);
      return;
    }
    reopenedAt = [...reopenedAt, now];
    replace(window);
  }

  async function askAboutHang(window: WindowApi): Promise<void> {
    const { response } = await dialog.showMessageBox(window, {
      type: 'warning',
      message: 'The window does not answer',
      detail: 'The gateway goes on serving. The window may recover by itself.',
      buttons: ['Wait', 'Open it anew'],
      defaultId: 0,
      cancelId: 0,
    });
    if (response === 1 && !window.isDestroyed()) reopen(window);
  }

  return {
    watch(window) {
      let isAsked = false;
      // A crashed page stays dead when shown, so another window takes its place.
      window.webContents.on('render-process-gone', (_event, { reason, exitCode }) => {
        if (reason === 'clean-exit') return;
        log('error', 'page_gone', { reason, exitCode });
        reopen(window);
      });
      window.on('unresponsive', () => {
        if (isAsked) return;
        isAsked = true;
        log('warn', 'page_unresponsive');
        void askAboutHang(window);
      });
      window.on('responsive', () => {
        isAsked = false;
      });
    },
  };
}
