import type { Log } from '../platform/log.ts';
import type { ElectronApi, WindowApi } from './electron-api.ts';

interface PageHealthDeps {
  readonly dialog: ElectronApi['dialog'];
  readonly log: Log;
  /** Replaces this window with a new one. */
  readonly replace: (window: WindowApi) => void;
  /** Called instead if replacing has not helped. */
  readonly giveUp: (window: WindowApi) => void;
}

/** Handles pages that crash or hang; the gateway keeps running. */
export interface PageHealth {
  watch(window: WindowApi): void;
}

/** A page that crashes right after each reopening must not keep the machine busy. */
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
      message: 'The window is not responding',
      detail: 'The gateway keeps running. The window may recover by itself.',
      buttons: ['Wait', 'Reopen'],
      defaultId: 0,
      cancelId: 0,
    });
    if (response === 1 && !window.isDestroyed()) reopen(window);
  }

  return {
    watch(window) {
      let isAsked = false;
      // A crashed page stays blank, so a new window replaces it.
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
