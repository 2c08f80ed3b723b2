import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { readCrashes, recentCrashes, restartDelayMs } from './crashes.ts';
import type { ElectronApi } from './electron-api.ts';
import type { Notice } from './owner-notices.ts';
import type { JsonFile } from './preferences.ts';

interface CrashStartDeps {
  readonly electron: Pick<ElectronApi, 'dialog' | 'shell'>;
  readonly file: JsonFile;
  readonly clock: Clock;
  readonly logsDirectory: string;
}

/** Waits before a start that follows several crashes, and says so; the owner may start at once, or quit. */
export async function waitAfterCrashes(deps: CrashStartDeps): Promise<'start' | 'quit'> {
  const { electron, file, clock } = deps;
  const crashes = readCrashes(file);
  const delayMs = restartDelayMs(crashes, clock.now());
  if (delayMs === 0) return 'start';
  const isOver = new AbortController();
  const cancel = clock.after(delayMs, () => isOver.abort());
  const count = recentCrashes(crashes.times, clock.now());
  for (;;) {
    const { response } = await electron.dialog.showMessageBox({
      type: 'error',
      message: `Switchyard has stopped ${count} times within 10 minutes`,
      detail: `It restarts in ${delayMs / 60_000} min, to avoid keeping this machine busy.\n\n${firstLine(crashes.last)}`,
      buttons: ['Start now', 'Open logs', 'Quit'],
      defaultId: 0,
      // The response of a box that `signal` closes.
      cancelId: 0,
      signal: isOver.signal,
    });
    if (response === 1) {
      await electron.shell.openPath(deps.logsDirectory);
      continue;
    }
    cancel();
    return response === 2 ? 'quit' : 'start';
  }
}

/** The notice about the last crash, given once and also logged. */
export function crashNotices(file: JsonFile, log: Log): readonly Notice[] {
  const crashes = readCrashes(file);
  if (crashes.isTold) return [];
  file.write({ ...crashes, isTold: true });
  log('error', 'crashed', { error: crashes.last });
  return [
    {
      cause: 'crash',
      title: 'Switchyard crashed and has restarted',
      body: `Running requests were cut off. ${firstLine(crashes.last)}`,
      button: { text: 'Open logs', action: 'open-logs' },
    },
  ];
}

const firstLine = (text: string) => (text.split('\n', 1)[0] ?? '').slice(0, 200);
