import type * as Electron from 'electron';
import { z } from 'zod';
import type { Clock } from '../platform/clock.ts';
import { messageOf } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { HIDDEN_SWITCH, relaunchArgs } from './command-line.ts';
import type { Notice } from './owner-notices.ts';
import type { JsonFile } from './preferences.ts';

interface StartDeps {
  readonly electron: Pick<typeof Electron, 'dialog' | 'shell'>;
  readonly clock: Clock;
  /** Where the owner can correct a setting that prevents the start. */
  readonly dataDirectory: string;
}

/** A start that failed is tried again, because nobody may be there to answer. */
const RETRY_MS = 60_000;
const CHOICES = ['Try again', 'Open settings folder', 'Quit'] as const;

/** Calls `start` until it succeeds or the owner quits. Nothing runs yet that a modal box could block. */
export async function startOrAsk(
  deps: StartDeps,
  start: () => Promise<void>,
): Promise<'started' | 'quit'> {
  for (;;) {
    try {
      await start();
      return 'started';
    } catch (error) {
      if ((await askAfterFailure(deps, error)) === 'Quit') return 'quit';
    }
  }
}

async function askAfterFailure(
  { electron, clock, dataDirectory }: StartDeps,
  error: unknown,
): Promise<'Try again' | 'Quit'> {
  const retry = new AbortController();
  const cancel = clock.after(RETRY_MS, () => retry.abort());
  for (;;) {
    const { response } = await electron.dialog.showMessageBox({
      type: 'error',
      message: 'Inglenook could not start',
      detail: `${messageOf(error)}\n\nIt tries again in a minute. Settings are in ${dataDirectory}.`,
      buttons: [...CHOICES],
      defaultId: 0,
      cancelId: CHOICES.indexOf('Quit'),
      signal: retry.signal,
    });
    const choice = retry.signal.aborted ? 'Try again' : (CHOICES[response] ?? 'Quit');
    if (choice !== 'Open settings folder') {
      cancel();
      return choice;
    }
    await electron.shell.openPath(dataDirectory);
  }
}

const schema = z.object({
  /** Times of the crashes in milliseconds since the epoch, oldest first. */
  times: z.array(z.number()),
  /** The last error with its stack, which the log may have lost. */
  last: z.string(),
  isTold: z.boolean(),
});

type CrashRecord = Readonly<z.infer<typeof schema>>;

const NONE: CrashRecord = { times: [], last: '', isTold: true };

const readCrashes = (file: JsonFile): CrashRecord => schema.safeParse(file.read()).data ?? NONE;

const RECENT_MS = 600_000;
/** Within ten minutes; then the app no longer starts at once, to avoid keeping the machine busy. */
const MAX_CRASHES = 3;
/** Of the saved error, in characters. */
const MAX_TEXT = 8000;

interface CrashDeps {
  readonly app: Pick<Electron.App, 'relaunch' | 'exit'>;
  readonly argv: readonly string[];
  readonly file: JsonFile;
  readonly clock: Clock;
  readonly isWindowOpen: () => boolean;
}

/**
 * Handles an uncaught error: saves it and restarts the app. The state after such an error cannot be trusted, and a
 * start takes a second or two.
 */
export function createCrashHandler(deps: CrashDeps): (error: unknown) => void {
  const { app, file, clock } = deps;
  let isOver = false;
  return (error) => {
    // An error in the handler itself, or during the exit, would arrive here again.
    if (isOver) return;
    isOver = true;
    const last = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const times = [...readCrashes(file).times, clock.now()].slice(-MAX_CRASHES);
    file.write({ times, last: last.slice(0, MAX_TEXT), isTold: false });
    app.relaunch({ args: relaunchArgs(deps.argv, deps.isWindowOpen() ? null : HIDDEN_SWITCH) });
    app.exit(1);
  };
}

/** Why the app does not start at once; null if it has not crashed too often. */
export function crashLoop(file: JsonFile, nowMs: number): Error | null {
  const { times, last } = readCrashes(file);
  const recent = times.filter((at) => at <= nowMs && nowMs - at < RECENT_MS);
  if (recent.length < MAX_CRASHES) return null;
  return new Error(`It has stopped ${MAX_CRASHES} times within 10 minutes. ${firstLine(last)}`);
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
      title: 'Inglenook crashed and has restarted',
      body: `Running requests were cut off. ${firstLine(crashes.last)}`,
      button: { text: 'Open logs', does: (act) => act.openLogs() },
    },
  ];
}

const firstLine = (text: string) => (text.split('\n', 1)[0] ?? '').slice(0, 200);
