import { fork, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { basename } from 'node:path';

/** The core that a process is bound to: a target has one for itself, load and upstream share the other. */
const CORES = { target: '0', load: '1' } as const;

/** A child process of the bench. */
export interface Child {
  readonly pid: number;
  readonly process: ChildProcess;
}

/** Starts processes, and ends them all again whatever happens. */
export type Children = ReturnType<typeof createChildren>;

/** Makes it, with nothing running. */
export function createChildren() {
  const running = new Set<ChildProcess>();
  const canPin = availableParallelism() > 1 && spawnSync('taskset', ['-V']).status === 0;

  function track(child: ChildProcess): Child {
    running.add(child);
    child.once('exit', () => running.delete(child));
    child.once('error', () => running.delete(child));
    // A program that could not be started has no id; `saying` tells of it.
    return { pid: child.pid ?? 0, process: child };
  }

  /** Only what was started here is ever signalled, each by its id. */
  const killAll = () => {
    for (const child of running) child.kill('SIGKILL');
  };

  return {
    /** In words, for the report. */
    pinning: canPin
      ? `target on core ${CORES.target}, load and fake upstream on core ${CORES.load}`
      : 'no process bound to a core (one core only, or no taskset): figures are rougher',
    start(
      place: keyof typeof CORES,
      command: readonly string[],
      env: Readonly<Record<string, string>> = {},
    ) {
      const [program = '', ...args] = canPin
        ? ['taskset', '-c', CORES[place], ...command]
        : command;
      return track(
        spawn(program, args, {
          env: { PATH: process.env['PATH'] ?? '', ...env },
          stdio: ['ignore', 'pipe', 'pipe'],
        }),
      );
    },
    /** Starts a module under Node with a channel for messages, beside the upstream. */
    startLinked(file: string): Child {
      const pinned = { execPath: 'taskset', execArgv: ['-c', CORES.load, process.execPath] };
      return track(fork(file, canPin ? pinned : {}));
    },
    killAll,
    /** Kills what still runs and waits until it is gone. */
    async endAll() {
      const gone = [...running].map((child) => once(child, 'exit'));
      killAll();
      await Promise.all(gone);
    },
  };
}

const READY_MS = 60_000;
const OUTPUT_KEPT = 4000;

/** Waits until a child says what `ready` matches, and gives the first group of the match. */
export function saying({ process: child }: Child, ready: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (why: string) => {
      clearTimeout(timer);
      reject(new Error(`${child.spawnargs.join(' ')}: ${why}\n${output}`.trimEnd()));
    };
    const timer = setTimeout(() => fail(`not ready within ${READY_MS} ms`), READY_MS);
    // Goes on reading after the match: a full pipe would stop the child.
    const onText = (text: Buffer) => {
      if (output.length < OUTPUT_KEPT) output += text.toString();
      const match = ready.exec(output);
      if (match === null) return;
      clearTimeout(timer);
      resolve(match[1] ?? '');
    };
    child.stdout?.on('data', onText);
    child.stderr?.on('data', onText);
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code) => fail(`ended with code ${code}`));
  });
}

const END_MS = 10_000;

/** Sends SIGTERM and waits for the end; rejects after 10 s. */
export async function terminate({ process: child }: Child): Promise<void> {
  const gone = once(child, 'exit', { signal: AbortSignal.timeout(END_MS) });
  child.kill('SIGTERM');
  await gone;
}

/** What a linked module says where it has no answer. */
export interface LinkFailure {
  readonly error: string;
}

/** Starts a module that answers each message with one; a failure that it tells, and its end, reject. */
export function startLink<Reply extends object | string>(children: Children, file: string) {
  const { process: child } = children.startLinked(file);
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${basename(file)} ended with code ${code}`);
  });
  ended.catch(() => {});
  const next = async (): Promise<Reply> => {
    const [reply] = (await Promise.race([once(child, 'message'), ended])) as [Reply | LinkFailure];
    if (typeof reply === 'object' && 'error' in reply)
      throw new Error(`${basename(file)}: ${reply.error}`);
    return reply;
  };
  return {
    next,
    ask(message: Parameters<typeof child.send>[0]) {
      const reply = next();
      child.send(message);
      return reply;
    },
  };
}
