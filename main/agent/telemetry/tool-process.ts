import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { kill as signalProcess } from 'node:process';
import type { Readable } from 'node:stream';
import { withTimeout } from '../../platform/async.ts';
import { ByteBuffer } from '../../platform/byte-buffer.ts';
import type { Clock } from '../../platform/clock.ts';
import { codeOf, nameOf } from '../../platform/errors.ts';
import { excerpt } from '#shared/visible.ts';
import { failureOf, type Poll } from './poll.ts';

export type ToolEnd =
  | { readonly kind: 'missing' }
  | { readonly kind: 'unstartable'; readonly detail: string }
  | { readonly kind: 'exited'; readonly code: number | null; readonly stderr: string };

interface RunningTool {
  /** Kills the tool and everything that it started; no more output is delivered. */
  kill(): void;
  /** May never resolve: a tool that is stuck in the driver survives even a kill. */
  readonly ended: Promise<ToolEnd>;
}

/** `onData` receives its standard output. */
export type StartTool = (
  command: string,
  args: readonly string[],
  onData: (chunk: Buffer) => void,
) => RunningTool;

export interface ToolWorld {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
}

/** The variables that driver tools need, on Windows in any case; all others are withheld, above all keys and tokens. */
const PASSED_VARIABLES = [
  'PATH',
  'HOME',
  'USERPROFILE',
  'SystemRoot',
  'windir',
  'ProgramFiles',
  'TEMP',
  'TMP',
  'LD_LIBRARY_PATH',
  'ROCM_PATH',
  'XDG_RUNTIME_DIR',
  // This program's own helper needs it: without it, types are stripped at every reading.
  'NODE_COMPILE_CACHE',
];

/** The environment for tools, whose messages must be in English. */
export function toolEnvironment(env: ToolWorld['env']): Record<string, string> {
  const toolEnv: Record<string, string> = { LC_ALL: 'C' };
  for (const name of PASSED_VARIABLES) {
    const value = env[name];
    if (value !== undefined) toolEnv[name] = value;
  }
  return toolEnv;
}

/** Longer output on standard error is cut off. */
const MAX_STDERR_CHARS = 2000;

/** Each tool gets its own process group, so that no grandchild survives it. */
export function createStartTool({ env, platform }: ToolWorld): StartTool {
  const toolEnv = toolEnvironment(env);
  const isGroup = platform !== 'win32';
  const folders = platform === 'win32' ? undefined : toolEnv['PATH']?.split(delimiter);
  /** Most tools are missing on most machines, and to start a process that finds none takes milliseconds. */
  const isMissing = (command: string) =>
    folders !== undefined &&
    (isAbsolute(command) ? [command] : folders.map((folder) => join(folder, command))).every(
      (path) => !existsSync(path),
    );
  return (command, args, onData) => {
    if (isMissing(command)) return notStarted({ kind: 'missing' });
    let child: ChildProcessByStdio<null, Readable, Readable>;
    try {
      child = spawn(command, args, {
        env: toolEnv,
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: isGroup,
        windowsHide: true,
      });
    } catch (error) {
      // Node throws what it does not expect, such as ENOMEM, ELOOP, ETXTBSY, and UNKNOWN on Windows.
      const detail = codeOf(error) ?? nameOf(error);
      return notStarted({ kind: 'unstartable', detail });
    }
    const { pid } = child;
    let stderr = '';
    let hasExited = false;
    child.stdout.on('data', onData);
    child.stderr.on('data', (chunk: Buffer) => {
      const room = MAX_STDERR_CHARS - stderr.length;
      if (room > 0) stderr += chunk.toString('utf8', 0, room);
    });
    const ended = new Promise<ToolEnd>((resolve) => {
      child.on('error', (error: NodeJS.ErrnoException) => {
        const detail = error.code ?? error.name;
        resolve(detail === 'ENOENT' ? { kind: 'missing' } : { kind: 'unstartable', detail });
      });
      child.on('close', (code) => resolve({ kind: 'exited', code, stderr }));
    });
    child.on('exit', () => {
      hasExited = true;
      if (isGroup) killGroup(pid);
    });
    return {
      ended,
      kill() {
        child.stdout.off('data', onData);
        child.stdout.destroy();
        child.stderr.destroy();
        child.unref();
        if (hasExited || pid === undefined) return;
        if (isGroup) killGroup(pid);
        else child.kill('SIGKILL');
      },
    };
  };
}

const notStarted = (end: ToolEnd): RunningTool => ({ ended: Promise.resolve(end), kill() {} });

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    signalProcess(-pid, 'SIGKILL');
  } catch {
    // The group is empty.
  }
}

type ToolResult =
  | { readonly kind: 'output'; readonly text: string }
  | { readonly kind: 'missing' }
  /** `text` is what it printed before failing. */
  | { readonly kind: 'failed'; readonly detail: string; readonly text: string }
  /** The tool was killed, which may not end it; `gone` resolves once it has ended. */
  | { readonly kind: 'hung'; readonly afterMs: number; readonly gone: Promise<unknown> };

export interface ToolEdges {
  readonly startTool: StartTool;
  readonly clock: Clock;
}

/** No tool prints more when it works. */
const MAX_BYTES = 1024 * 1024;
/** How long to wait for a killed tool. */
const KILL_WAIT_MS = 1000;

const STOPPED: ToolResult = { kind: 'failed', detail: 'it was stopped', text: '' };

/** Runs a tool until it exits, exceeds its time or size limit, or `signal` aborts. */
async function runTool(
  command: string,
  args: readonly string[],
  { startTool, clock, timeoutMs }: ToolEdges & { readonly timeoutMs: number },
  signal: AbortSignal,
): Promise<ToolResult> {
  if (signal.aborted) return STOPPED;
  const output = new ByteBuffer();
  const { promise: flooded, resolve: onFlood } = Promise.withResolvers<ToolResult>();
  const tool = startTool(command, args, (chunk) => {
    output.add(chunk);
    if (output.length <= MAX_BYTES) return;
    tool.kill();
    output.clear();
    onFlood({ kind: 'failed', detail: `it printed over ${MAX_BYTES} bytes`, text: '' });
  });
  const ended = tool.ended.then((end) => resultOf(end, output));
  const first = Promise.race([flooded, ended]);
  const result = await withTimeout(first, { clock, ms: timeoutMs, signal });
  switch (result.kind) {
    case 'settled':
      return result.value;
    case 'timed_out':
      tool.kill();
      return { kind: 'hung', afterMs: timeoutMs, gone: tool.ended };
    case 'aborted':
      tool.kill();
      await withTimeout(tool.ended, { clock, ms: KILL_WAIT_MS });
      return STOPPED;
  }
}

function resultOf(end: ToolEnd, output: ByteBuffer): ToolResult {
  if (end.kind === 'missing') return end;
  if (end.kind === 'unstartable')
    return { kind: 'failed', detail: `it cannot be started: ${end.detail}`, text: '' };
  const text = output.take().toString('utf8');
  if (end.code === 0) return { kind: 'output', text };
  return { kind: 'failed', detail: exitWords(end.code, end.stderr.trim() || text), text };
}

/** How a tool exited, with its last output. */
function exitWords(code: number | null, said: string): string {
  const how = code === null ? 'it was ended by a signal' : `it ended with code ${code}`;
  const words = excerpt(said);
  return words === '' ? how : `${how}: ${words}`;
}

/** amd-smi is a Python program that takes seconds on a busy machine. */
const TIMEOUT_MS = 10_000;

/** Runs a tool from the first path where it is installed. */
export async function runFirst(
  commands: readonly string[],
  args: readonly string[],
  edges: ToolEdges & { readonly timeoutMs?: number },
  signal: AbortSignal,
): Promise<ToolResult> {
  for (const command of commands) {
    const result = await runTool(command, args, { timeoutMs: TIMEOUT_MS, ...edges }, signal);
    if (result.kind !== 'missing') return result;
  }
  return { kind: 'missing' };
}

/** What a tool prints; null if it is not installed or fails. */
export async function outputOf(
  commands: readonly string[],
  args: readonly string[],
  edges: ToolEdges,
  signal: AbortSignal,
): Promise<string | null> {
  const result = await runFirst(commands, args, edges, signal);
  return result.kind === 'output' ? result.text : null;
}

/** A failed round for a call without a reading. */
export function toolProblem(
  call: readonly string[],
  result: ToolResult,
  remedy: string | ((happened: string) => string),
): Poll {
  const happened = wordsOf(result);
  const problem = {
    tool: call[0] ?? '',
    tried: call.join(' '),
    happened,
    remedy: typeof remedy === 'string' ? remedy : remedy(happened),
  };
  return failureOf(problem, result.kind === 'hung' ? result.gone : undefined);
}

function wordsOf(result: ToolResult): string {
  switch (result.kind) {
    case 'output':
      return `it printed unexpected output: ${excerpt(result.text) || 'nothing'}`;
    case 'missing':
      return 'it is not installed';
    case 'failed':
      return result.detail;
    case 'hung':
      return `it has hung: no answer in ${result.afterMs / 1000} s`;
  }
}
