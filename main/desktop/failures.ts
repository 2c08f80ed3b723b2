import { createServer } from 'node:net';
import type * as Electron from 'electron';
import { messageOf } from '../platform/errors.ts';
import { z } from 'zod';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { HIDDEN_SWITCH } from './login-item.ts';
import type { Notice } from './owner-notices.ts';
import type { JsonFile } from './preferences.ts';
import { relaunchOptions } from './command-line.ts';

interface StartFailureDeps {
  readonly electron: Pick<typeof Electron, 'dialog' | 'shell'>;
  readonly dataDirectory: string;
  /** A port to offer if the error is that the gateway's own is taken; null otherwise. */
  readonly otherPort: (error: unknown) => Promise<number | null>;
}

/**
 * Says why the gateway does not start, and asks what to do: null for another try, or a port, which is saved, so that apps
 * find the gateway there from now on. Nothing runs yet that a modal box could block.
 */
async function askAfterFailure(
  { electron, dataDirectory, otherPort }: StartFailureDeps,
  error: unknown,
): Promise<number | 'quit' | null> {
  const port = await otherPort(error);
  const choices: readonly (readonly [string, number | 'quit' | 'open' | null])[] = [
    ['Try again', null],
    ...(port === null ? [] : [[`Use port ${port}`, port] as const]),
    ['Open settings folder', 'open'],
    ['Quit', 'quit'],
  ];
  const hint = port === null ? '' : ' Apps that call this gateway then need the new port as well.';
  for (;;) {
    const { response } = await electron.dialog.showMessageBox({
      type: 'error',
      message: 'Inglenook could not start',
      detail: `${messageOf(error)}${hint}\n\nSettings are in ${dataDirectory}.`,
      buttons: choices.map(([text]) => text),
      defaultId: 0,
      cancelId: choices.length - 1,
    });
    const choice = choices[response]?.[1] ?? null;
    if (choice !== 'open') return choice;
    await electron.shell.openPath(dataDirectory);
  }
}

/** Calls `start`, with the port that the owner has chosen if any, until it succeeds or the owner quits. */
export async function startOrAsk(
  deps: StartFailureDeps,
  start: (port: number | null) => Promise<void>,
): Promise<'started' | 'quit'> {
  for (let port: number | null = null; ;) {
    try {
      await start(port);
      return 'started';
    } catch (error) {
      const choice = await askAfterFailure(deps, error);
      if (choice === 'quit') return choice;
      port = choice;
    }
  }
}

/** Outside the default ports of gateways and agents. */
const FIRST = 47_910;
const LAST = 47_999;

/** A free loopback port for a gateway whose own is taken; null if none is free. */
export async function freePort(first = FIRST, last = LAST): Promise<number | null> {
  for (let port = first; port <= last; port++) {
    if (await isFree(port)) return port;
  }
  return null;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () =>
      server.close(() => resolve(true)),
    );
  });
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
/** Indexed by the number of crashes in the last ten minutes; the last entry holds for more. */
const DELAYS_MS = [0, 0, 0, 60_000, 300_000, 600_000] as const;
const MAX_KEPT = 20;
/** Of the saved error, in characters. */
const MAX_TEXT = 8000;

/**
 * How long to wait before starting again, so that an app that crashes at start does not keep the machine busy; pure.
 */
export function restartDelayMs({ times }: CrashRecord, nowMs: number): number {
  const recent = recentCrashes(times, nowMs);
  return DELAYS_MS[Math.min(recent, DELAYS_MS.length - 1)] ?? 0;
}

/** In the last ten minutes. */
const recentCrashes = (times: readonly number[], nowMs: number): number =>
  times.filter((at) => at <= nowMs && nowMs - at < RECENT_MS).length;

interface CrashDeps {
  readonly app: Pick<Electron.App, 'relaunch' | 'exit'>;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
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
    const times = [...readCrashes(file).times, clock.now()].slice(-MAX_KEPT);
    file.write({ times, last: last.slice(0, MAX_TEXT), isTold: false });
    app.relaunch(relaunchOptions(deps, deps.isWindowOpen() ? [] : [`--${HIDDEN_SWITCH}`]));
    app.exit(1);
  };
}

interface CrashStartDeps {
  readonly electron: Pick<typeof Electron, 'dialog' | 'shell'>;
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
      message: `Inglenook has stopped ${count} times within 10 minutes`,
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
      title: 'Inglenook crashed and has restarted',
      body: `Running requests were cut off. ${firstLine(crashes.last)}`,
      button: { text: 'Open logs', does: (act) => act.openLogs() },
    },
  ];
}

const firstLine = (text: string) => (text.split('\n', 1)[0] ?? '').slice(0, 200);
