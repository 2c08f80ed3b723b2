import { spawn } from 'node:child_process';
import { kill as signalProcess } from 'node:process';

/** How a tool ended. */
export type ToolEnd =
  | { readonly kind: 'missing' }
  | { readonly kind: 'unstartable'; readonly detail: string }
  | { readonly kind: 'exited'; readonly code: number | null; readonly stderr: string };

/** A tool that was started. */
export interface RunningTool {
  /** Ends it and whatever it has started; nothing of its output is heard any more. */
  kill(): void;
  /** A tool that is stuck inside the driver may never end, not even when killed. */
  readonly ended: Promise<ToolEnd>;
}

/** Starts a tool; `onData` hears its standard output. */
export type StartTool = (
  command: string,
  args: readonly string[],
  onData: (chunk: Buffer) => void,
) => RunningTool;

/** Where tools run. */
export interface ToolWorld {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
}

/** What a driver's tool needs; everything else stays here, keys and tokens above all. */
const KEPT_VARIABLES = [
  'PATH',
  'Path',
  'HOME',
  'USERPROFILE',
  'SystemRoot',
  'SYSTEMROOT',
  'windir',
  'ProgramFiles',
  'TEMP',
  'TMP',
  'LD_LIBRARY_PATH',
  'ROCM_PATH',
  'XDG_RUNTIME_DIR',
];

/** The part of an environment that tools are given; their words are wanted in English. */
export function toolEnvironment(env: ToolWorld['env']): Record<string, string> {
  const kept: Record<string, string> = { LC_ALL: 'C' };
  for (const name of KEPT_VARIABLES) {
    const value = env[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

/** Longest part of the standard error that is kept. */
const MAX_STDERR_CHARS = 2000;

/** Makes the way to start tools. Each has a process group of its own, so that no grandchild stays behind. */
export function createStartTool({ env, platform }: ToolWorld): StartTool {
  const kept = toolEnvironment(env);
  const isGroup = platform !== 'win32';
  return (command, args, onData) => {
    const child = spawn(command, args, {
      env: kept,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: isGroup,
      windowsHide: true,
    });
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

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    signalProcess(-pid, 'SIGKILL');
  } catch {
    // Nobody of the group is left.
  }
}
