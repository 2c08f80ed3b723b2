import { z } from 'zod';
import { messageOf } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { HIDDEN_SWITCH, relaunchArgs } from './command-line.ts';
import { crashed, type Notice } from './owner-notices.ts';
import type { JsonFile } from './preferences.ts';
import type { ShellDeps } from './system.ts';

/** A failed start is tried again without a question, because nobody may be there to answer it. */
const RETRY_MS = 60_000;

/** Calls `start` until it succeeds or the owner quits. Nothing runs yet that a modal box could block. */
export async function startOrAsk(
  { electron, clock, dataDirectory }: ShellDeps & { readonly dataDirectory: string },
  start: () => Promise<void>,
): Promise<'started' | 'quit'> {
  for (;;) {
    try {
      await start();
      return 'started';
    } catch (error) {
      const retry = new AbortController();
      const cancel = clock.after(RETRY_MS, () => retry.abort());
      const { response } = await electron.dialog.showMessageBox({
        type: 'error',
        message: 'Inglenook could not start',
        detail: `${messageOf(error)}\n\nIt tries again in a minute. Settings are in ${dataDirectory}.`,
        buttons: ['Try again', 'Quit'],
        cancelId: 1,
        signal: retry.signal,
      });
      cancel();
      if (response === 1 && !retry.signal.aborted) return 'quit';
    }
  }
}

const schema = z.object({
  /** Times of the crashes in milliseconds since the epoch, oldest first. */
  times: z.array(z.number()),
  /** The last error with its stack, which the log may have lost; null once it is told. */
  untold: z.string().nullable(),
});

const readCrashes = (file: JsonFile): z.infer<typeof schema> =>
  schema.safeParse(file.read()).data ?? { times: [], untold: null };

const RECENT_MS = 600_000;
/** After so many within ten minutes the app no longer restarts at once, which would keep the machine busy. */
const MAX_CRASHES = 3;
/** Longer errors are cut before they are saved, in characters. */
const MAX_TEXT = 8000;

/**
 * Handles an uncaught error: saves it and restarts the app. The state after such an error cannot be trusted, and a
 * start takes a second or two.
 */
export function createCrashHandler(
  { electron: { app }, argv, clock, crashFile }: ShellDeps,
  isWindowOpen: () => boolean,
): (error: unknown) => void {
  let isOver = false;
  return (error) => {
    // An error in the handler itself, or during the exit, would arrive here again.
    if (isOver) return;
    isOver = true;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const times = [...readCrashes(crashFile).times, clock.now()].slice(-MAX_CRASHES);
    crashFile.write({ times, untold: text.slice(0, MAX_TEXT) });
    app.relaunch({ args: relaunchArgs(argv, isWindowOpen() ? null : HIDDEN_SWITCH) });
    app.exit(1);
  };
}

/** Why the app does not start at once; null if it has not crashed too often. */
export function crashLoop(file: JsonFile, nowMs: number): Error | null {
  const { times, untold } = readCrashes(file);
  const recent = times.filter((at) => at <= nowMs && nowMs - at < RECENT_MS);
  if (recent.length < MAX_CRASHES) return null;
  return new Error(`It has stopped ${MAX_CRASHES} times within 10 minutes. ${firstLine(untold)}`);
}

/** The notice about the last crash, given once and also logged. */
export function crashNotice(file: JsonFile, log: Log): Notice | null {
  const { times, untold } = readCrashes(file);
  if (untold === null) return null;
  file.write({ times, untold: null });
  log('error', 'crashed', { error: untold });
  return crashed(firstLine(untold));
}

const firstLine = (text: string | null) => (text ?? '').split('\n', 1)[0]?.slice(0, 200) ?? '';
